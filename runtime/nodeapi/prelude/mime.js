// util.MIMEType.
(function (host, use) {
  const { coded } = use("errors");
  const token = /^[!#$%&'*+\-.^_`|~A-Za-z0-9]+$/;
  const invalid = (what, text) => coded(TypeError, "ERR_INVALID_MIME_SYNTAX", `The MIME syntax for a ${what} in "${text}" is invalid`);
  class MIMEParams {
    #map = new Map();
    get(name) { return this.#map.get(`${name}`) ?? null; }
    has(name) { return this.#map.has(`${name}`); }
    set(name, value) {
      if (!token.test(name)) throw invalid("parameter name", name);
      this.#map.set(`${name}`, `${value}`);
    }
    delete(name) { this.#map.delete(`${name}`); }
    entries() { return this.#map.entries(); }
    keys() { return this.#map.keys(); }
    values() { return this.#map.values(); }
    [Symbol.iterator]() { return this.#map.entries(); }
    toString() {
      return [...this.#map].map(([k, v]) => `${k}=${token.test(v) ? v : `"${v.replace(/["\\]/g, "\\$&")}"`}`).join(";");
    }
    toJSON() { return this.toString(); }
  }
  class MIMEType {
    #type; #subtype;
    #params = new MIMEParams();
    constructor(text) {
      text = `${text}`.trim();
      const m = /^([^/]*)\/([^;]*?)\s*(?:;(.*))?$/.exec(text);
      if (!m || !token.test(m[1])) throw invalid("type", text);
      if (!token.test(m[2])) throw invalid("subtype", text);
      this.#type = m[1].toLowerCase();
      this.#subtype = m[2].toLowerCase();
      for (const p of (m[3] ?? "").matchAll(/\s*([^=;]+)=(?:"((?:[^"\\]|\\.)*)"[^;]*|([^;]*))(?:;|$)/g)) {
        const name = p[1].toLowerCase(), value = p[2] !== undefined ? p[2].replace(/\\(.)/g, "$1") : p[3].trim();
        if (token.test(name) && value !== "" && !this.#params.has(name)) this.#params.set(name, value);
      }
    }
    get type() { return this.#type; }
    set type(v) { if (!token.test(v)) throw invalid("type", v); this.#type = `${v}`.toLowerCase(); }
    get subtype() { return this.#subtype; }
    set subtype(v) { if (!token.test(v)) throw invalid("subtype", v); this.#subtype = `${v}`.toLowerCase(); }
    get essence() { return `${this.#type}/${this.#subtype}`; }
    get params() { return this.#params; }
    toString() { const p = this.#params.toString(); return p ? `${this.essence};${p}` : this.essence; }
    toJSON() { return this.toString(); }
  }
  return { MIMEType, MIMEParams };
})
