// querystring.
(function (host, use) {
  const { coded } = use("errors");
  const escape = (v) => {
    if (typeof v !== "string") v = typeof v === "object" ? String(v) : v + "";
    try { return encodeURIComponent(v); } catch { throw coded(URIError, "ERR_INVALID_URI", "URI malformed"); }
  };
  const unescapeBuffer = (s, spaces) => {
    const bytes = [...host_utf8(s)];
    const out = [];
    const hex = (c) => { const v = parseInt(String.fromCharCode(c), 16); return v === v ? v : -1; };
    for (let n = 0; n < bytes.length; n++) {
      let c = bytes[n];
      if (c === 43 && spaces) c = 32;
      else if (c === 37 && n + 2 < bytes.length) {
        const high = hex(bytes[n + 1]), low = hex(bytes[n + 2]);
        if (high >= 0 && low >= 0) { c = high * 16 + low; n += 2; }
      }
      out.push(c);
    }
    return use("buffer").Buffer.from(out);
  };
  const host_utf8 = (s) => new Uint8Array(host.encode(s, "utf8"));
  const unescape = (s, spaces) => {
    try { return decodeURIComponent(s); } catch { return unescapeBuffer(s, spaces).toString(); }
  };
  const word = (v) => {
    if (typeof v === "string") return v;
    if (typeof v === "number" && isFinite(v)) return "" + v;
    if (typeof v === "bigint") return "" + v;
    if (typeof v === "boolean") return v ? "true" : "false";
    return "";
  };
  const stringify = (o, sep = "&", eq = "=", options) => {
    const encode = options?.encodeURIComponent ?? api.escape;
    sep ||= "&";
    eq ||= "=";
    if (o === null || typeof o !== "object") return "";
    const out = [];
    for (const key of Object.keys(o)) {
      const head = encode(word(key)) + eq;
      if (Array.isArray(o[key])) for (const v of o[key]) out.push(head + encode(word(v)));
      else out.push(head + encode(word(o[key])));
    }
    return out.join(sep);
  };
  const parse = (text, sep, eq, options) => {
    const out = { __proto__: null };
    if (typeof text !== "string" || text.length === 0) return out;
    sep = sep ? sep + "" : "&";
    eq = eq ? eq + "" : "=";
    const most = typeof options?.maxKeys === "number" ? options.maxKeys : 1000;
    const decode = options?.decodeURIComponent ?? api.unescape;
    const value = (s) => {
      s = s.includes("+") ? s.replace(/\+/g, " ") : s;
      if (!s.includes("%") && decode === api.unescape) return s;
      try { return decode(s); } catch { return unescape(s, true); }
    };
    let count = 0;
    for (const pair of text.split(sep)) {
      if (pair === "") continue;
      if (most > 0 && count++ >= most) break;
      const at = pair.indexOf(eq);
      const k = value(at < 0 ? pair : pair.slice(0, at)), v = at < 0 ? "" : value(pair.slice(at + eq.length));
      if (!(k in out)) out[k] = v;
      else if (Array.isArray(out[k])) out[k].push(v);
      else out[k] = [out[k], v];
    }
    return out;
  };
  const api = { unescapeBuffer, unescape, escape, stringify, encode: stringify, parse, decode: parse };
  return api;
})
