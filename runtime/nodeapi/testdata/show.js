const show = (v) => {
  if (typeof v === "string") return JSON.stringify(v);
  if (typeof v === "bigint") return v + "n";
  if (typeof v === "symbol") return v.toString();
  if (typeof v === "function") return "function " + v.name;
  if (v instanceof Error || (typeof DOMException !== "undefined" && v instanceof DOMException)) return v.name + ": " + v.message.replace(/\n/g, "\\n");
  if (v instanceof ArrayBuffer) return "ArrayBuffer[" + new Uint8Array(v) + "]";
  if (ArrayBuffer.isView(v)) return v.constructor.name + "[" + [...v] + "]";
  if (Array.isArray(v)) return "[" + v.map(show).join(", ") + "]";
  if (v && typeof v === "object") {
    const name = v.constructor?.name;
    return (name && name !== "Object" ? name + " " : "") + "{" + Object.keys(v).map((k) => k + ": " + show(v[k])).join(", ") + "}";
  }
  return String(v);
};
