// Errors as Node.js words them.
(function (host) {
  const { inspect } = host;
  const coded = (Base, code, message) => {
    const e = new Base(message);
    return withCode(e, code);
  };
  // withCode has an error say its code, as Node.js's do.
  const withCode = (e, code) => {
    e.code = code;
    const { stack } = e;
    if (typeof stack === "string" && stack.startsWith(e.name)) {
      Object.defineProperty(e, "stack", {
        value: `${e.name} [${code}]${stack.slice(e.name.length)}`, writable: true, configurable: true,
      });
    }
    Object.defineProperty(e, "toString", {
      value: function toString() { return `${this.name} [${code}]: ${this.message}`; }, writable: true, configurable: true,
    });
    return e;
  };
  const received = (v) => {
    if (v === null || v === undefined) return `Received ${v}`;
    if (typeof v === "function") return `Received function ${v.name}`;
    if (typeof v === "object") {
      if (v.constructor?.name) return `Received an instance of ${v.constructor.name}`;
      return `Received ${inspect(v, { depth: -1 })}`;
    }
    let text = inspect(v);
    if (text.length > 28) text = text.slice(0, 25) + "...";
    return `Received type ${typeof v} (${text})`;
  };
  const primitives = ["string", "function", "number", "object", "Function", "Object", "boolean", "bigint", "symbol"];
  const list = (words) => words.length < 3 ? words.join(" or ") : words.slice(0, -1).join(", ") + ", or " + words.at(-1);
  const subject = (name) =>
    name.endsWith(" argument") ? `The ${name}` : `The "${name}" ${name.includes(".") ? "property" : "argument"}`;
  // invalidArgType throws; expected is a name of a type or class, or a list of them.
  const invalidArgType = (name, expected, value) => {
    expected = [expected].flat();
    const types = expected.filter((t) => primitives.includes(t)).map((t) => t.toLowerCase());
    const classes = expected.filter((t) => !primitives.includes(t));
    const at = types.indexOf("object");
    if (at >= 0 && classes.length > 0) { types.splice(at, 1); classes.push("Object"); }
    const parts = [];
    if (types.length > 0) parts.push((types.length > 1 ? "one of type " : "of type ") + list(types));
    if (classes.length > 0) parts.push("an instance of " + list(classes));
    throw coded(TypeError, "ERR_INVALID_ARG_TYPE", `${subject(name)} must be ${parts.join(" or ")}. ${received(value)}`);
  };
  const invalidArgValue = (name, value, reason = "is invalid") => {
    let text = inspect(value);
    if (text.length > 128) text = text.slice(0, 128) + "...";
    const kind = name.includes(".") ? "property" : "argument";
    return coded(TypeError, "ERR_INVALID_ARG_VALUE", `The ${kind} '${name}' ${reason}. Received ${text}`);
  };
  const grouped = (v) => {
    if (typeof v === "bigint" ? v > 4294967296n || v < -4294967296n : Number.isInteger(v) && Math.abs(v) > 4294967296) {
      return String(v).replace(/\B(?=(\d{3})+$)/g, "_") + (typeof v === "bigint" ? "n" : "");
    }
    return inspect(v);
  };
  const outOfRange = (name, range, value) =>
    coded(RangeError, "ERR_OUT_OF_RANGE", `The value of "${name}" is out of range. It must be ${range}. Received ${grouped(value)}`);
  const check = {
    string: (v, name) => { if (typeof v !== "string") invalidArgType(name, "string", v); },
    function: (v, name) => { if (typeof v !== "function") invalidArgType(name, "function", v); },
    boolean: (v, name) => { if (typeof v !== "boolean") invalidArgType(name, "boolean", v); },
    object: (v, name) => { if (v === null || typeof v !== "object" || Array.isArray(v)) invalidArgType(name, "object", v); },
    integer: (v, name, min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) => {
      if (typeof v !== "number") invalidArgType(name, "number", v);
      if (!Number.isInteger(v)) throw outOfRange(name, "an integer", v);
      if (v < min || v > max) throw outOfRange(name, `>= ${min} && <= ${max}`, v);
    },
    number: (v, name, min) => {
      if (typeof v !== "number") invalidArgType(name, "number", v);
      if (min !== undefined && !(v >= min)) throw outOfRange(name, `>= ${min}`, v);
    },
    signal: (v, name) => {
      if (v !== undefined && (v === null || typeof v !== "object" || !("aborted" in v))) invalidArgType(name, "AbortSignal", v);
    },
  };
  class AbortError extends Error {
    constructor(message = "The operation was aborted", options) {
      super(message, options);
      this.code = "ABORT_ERR";
      this.name = "AbortError";
    }
  }
  // notImplemented is workerd's.
  const notImplemented = (name) => coded(Error, "ERR_METHOD_NOT_IMPLEMENTED", `The ${name} method is not implemented`);
  return { coded, withCode, received, invalidArgType, invalidArgValue, outOfRange, check, AbortError, notImplemented };
})
