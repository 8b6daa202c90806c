// url: the old functions, and those for files.
(function (host, use) {
  const { coded, invalidArgType, check } = use("errors");
  const querystring = use("querystring");
  const slashed = new Set(["http", "https", "ftp", "gopher", "file", "ws", "wss"].flatMap((p) => [p, p + ":"]));
  const hostless = new Set(["javascript", "javascript:"]);
  const escapes = {
    "\t": "%09", "\n": "%0A", "\r": "%0D", " ": "%20", '"': "%22", "'": "%27", "<": "%3C", ">": "%3E", "\\": "%5C", "^": "%5E",
    "`": "%60", "{": "%7B", "|": "%7C", "}": "%7D",
  };
  const simple = /^(\/\/?(?!\/)[^?\s]*)(\?[^\s]*)?$/;
  const toASCII = (name) => {
    try { return new URL(`http://${name}`).hostname; } catch { return ""; }
  };
  function Url() {
    this.protocol = null; this.slashes = null; this.auth = null; this.host = null; this.port = null; this.hostname = null;
    this.hash = null; this.search = null; this.query = null; this.pathname = null; this.path = null; this.href = null;
  }
  const invalid = (text) => {
    const e = coded(TypeError, "ERR_INVALID_URL", "Invalid URL");
    e.input = text;
    return e;
  };
  Url.prototype.parse = function (url, parseQuery, slashesDenoteHost) {
    check.string(url, "url");
    // Backslashes in front of a query are slashes, and white space around is nothing.
    url = url.trim();
    const cut = url.search(/[?#]/);
    let rest = cut < 0 ? url.replace(/\\/g, "/") : url.slice(0, cut).replace(/\\/g, "/") + url.slice(cut);
    if (!slashesDenoteHost && !url.includes("#") && !url.includes("@")) {
      const m = simple.exec(rest);
      if (m) {
        this.path = this.href = rest;
        this.pathname = m[1];
        if (m[2]) {
          this.search = m[2];
          this.query = parseQuery ? querystring.parse(m[2].slice(1)) : m[2].slice(1);
        } else if (parseQuery) { this.search = null; this.query = { __proto__: null }; }
        return this;
      }
    }
    let proto = /^[a-z0-9.+-]+:/i.exec(rest)?.[0];
    let lower = "";
    if (proto) {
      lower = proto.toLowerCase();
      this.protocol = lower;
      rest = rest.slice(proto.length);
    }
    let slashes;
    if (slashesDenoteHost || proto || /^\/\/[^@/]+@[^@/]+/.test(rest)) {
      slashes = rest.startsWith("//");
      if (slashes && !(proto && hostless.has(lower))) { rest = rest.slice(2); this.slashes = true; }
    }
    if (!hostless.has(lower) && (slashes || (proto && !slashed.has(proto)))) {
      // The host ends at the first of these; an at sign that comes last before divides it from the user.
      let end = rest.search(/[/?#]/);
      if (end < 0) end = rest.length;
      let part = rest.slice(0, end);
      const at = part.lastIndexOf("@");
      if (at >= 0) { this.auth = decodeURIComponent(part.slice(0, at)); part = part.slice(at + 1); }
      const stop = part.search(/[\t\n\r "'<>\\^`{|}%;]/);
      if (stop >= 0) { rest = part.slice(stop) + rest.slice(end); part = part.slice(0, stop); } else rest = rest.slice(end);
      const port = /:([0-9]*)$/.exec(part);
      if (port) {
        if (port[1]) this.port = port[1];
        part = part.slice(0, -port[0].length);
      }
      const ipv6 = part.startsWith("[") && part.endsWith("]");
      if (!ipv6) {
        const bad = /[^a-z0-9.\-_+\u0080-\uffff]/i.exec(part);
        if (bad) { rest = part.slice(bad.index) + rest; part = part.slice(0, bad.index); if (!rest.startsWith("/")) rest = "/" + rest; }
      }
      this.hostname = part.length > 255 ? "" : part.toLowerCase();
      if (!ipv6 && /[^\0-\x7f]/.test(this.hostname)) {
        this.hostname = toASCII(this.hostname);
        if (this.hostname === "") throw invalid(url);
      }
      this.host = this.hostname + (this.port ? ":" + this.port : "");
      if (ipv6) {
        this.hostname = this.hostname.slice(1, -1);
        if (rest[0] !== "/" && rest !== "") rest = "/" + rest;
      }
    }
    if (!hostless.has(lower)) rest = rest.replace(/[\t\n\r "'<>\\^`{|}]/g, (c) => escapes[c]);
    const hash = rest.indexOf("#");
    if (hash >= 0) { this.hash = rest.slice(hash); rest = rest.slice(0, hash); }
    const q = rest.indexOf("?");
    if (q >= 0) {
      this.search = rest.slice(q);
      this.query = parseQuery ? querystring.parse(rest.slice(q + 1)) : rest.slice(q + 1);
      rest = rest.slice(0, q);
    } else if (parseQuery) { this.search = null; this.query = { __proto__: null }; }
    if (rest) this.pathname = rest;
    if (slashed.has(lower) && this.hostname && !this.pathname) this.pathname = "/";
    if (this.pathname || this.search) this.path = (this.pathname || "") + (this.search || "");
    this.href = this.format();
    return this;
  };
  Url.prototype.format = function () {
    let auth = this.auth || "";
    if (auth) auth = encodeURIComponent(auth).replace(/%3A/i, ":") + "@";
    let protocol = this.protocol || "", pathname = this.pathname || "", hash = this.hash || "", name = "", query = "";
    if (this.host) name = auth + this.host;
    else if (this.hostname) {
      name = auth + (this.hostname.includes(":") && !this.hostname.startsWith("[") ? `[${this.hostname}]` : this.hostname);
      if (this.port) name += ":" + this.port;
    }
    if (this.query !== null && typeof this.query === "object") query = querystring.stringify(this.query);
    let search = this.search || (query && "?" + query) || "";
    if (protocol && !protocol.endsWith(":")) protocol += ":";
    pathname = pathname.replace(/[?#]/g, (c) => (c === "?" ? "%3F" : "%23"));
    if (this.slashes || slashed.has(protocol)) {
      if (this.slashes || name) {
        if (pathname && pathname[0] !== "/") pathname = "/" + pathname;
        name = "//" + name;
      } else if (/^file:?$/.test(protocol)) name = "//";
    }
    search = search.replace(/#/g, "%23");
    if (hash && hash[0] !== "#") hash = "#" + hash;
    if (search && search[0] !== "?") search = "?" + search;
    return protocol + name + pathname + search + hash;
  };
  Url.prototype.resolve = function (relative) { return this.resolveObject(parse(relative, false, true)).format(); };
  Url.prototype.resolveObject = function (relative) {
    if (typeof relative === "string") relative = parse(relative, false, true);
    const out = Object.assign(new Url(), this);
    out.hash = relative.hash;
    if (relative.href === "") { out.href = out.format(); return out; }
    const paths = () => {
      out.path = out.pathname || out.search ? (out.pathname || "") + (out.search || "") : null;
      out.href = out.format();
      return out;
    };
    if (relative.slashes && !relative.protocol) {
      for (const key of Object.keys(relative)) if (key !== "protocol") out[key] = relative[key];
      if (slashed.has(out.protocol) && out.hostname && !out.pathname) out.path = out.pathname = "/";
      out.href = out.format();
      return out;
    }
    if (relative.protocol && relative.protocol !== out.protocol) {
      if (!slashed.has(relative.protocol)) return Object.assign(out, relative, { href: relative.format() });
      out.protocol = relative.protocol;
      if (!relative.host && !/^file:?$/.test(relative.protocol) && !hostless.has(relative.protocol)) {
        const parts = (relative.pathname || "").split("/");
        while (parts.length > 0 && !(relative.host = parts.shift()));
        relative.host ||= "";
        relative.hostname ||= relative.host;
        if (parts[0] !== "") parts.unshift("");
        if (parts.length < 2) parts.unshift("");
        out.pathname = parts.join("/");
      } else out.pathname = relative.pathname;
      out.search = relative.search;
      out.query = relative.query;
      out.host = relative.host || "";
      out.auth = relative.auth;
      out.hostname = relative.hostname || relative.host;
      out.port = relative.port;
      out.slashes ||= relative.slashes;
      return paths();
    }
    const own = out.pathname?.[0] === "/", rooted = relative.host || relative.pathname?.[0] === "/";
    const absolute = rooted || own || (out.host && relative.pathname);
    const wasAbsolute = absolute;
    let parts = out.pathname?.split("/") ?? [];
    const more = relative.pathname?.split("/") ?? [];
    if (rooted) {
      if (relative.host || relative.host === "") {
        if (out.host !== relative.host) out.auth = null;
        out.host = relative.host;
        out.port = relative.port;
      }
      if (relative.hostname || relative.hostname === "") {
        if (out.hostname !== relative.hostname) out.auth = null;
        out.hostname = relative.hostname;
      }
      out.search = relative.search;
      out.query = relative.query;
      parts = more;
    } else if (more.length > 0) {
      parts = [...parts.slice(0, -1), ...more];
      out.search = relative.search;
      out.query = relative.query;
    } else if (relative.search !== null && relative.search !== undefined) {
      out.search = relative.search;
      out.query = relative.query;
      return paths();
    }
    if (parts.length === 0) {
      out.pathname = null;
      out.path = out.search ? "/" + out.search : null;
      out.href = out.format();
      return out;
    }
    const last = parts.at(-1);
    const trailing = ((out.host || relative.host || parts.length > 1) && (last === "." || last === "..")) || last === "";
    let up = 0;
    for (let n = parts.length - 1; n >= 0; n--) {
      if (parts[n] === ".") parts.splice(n, 1);
      else if (parts[n] === "..") { parts.splice(n, 1); up++; } else if (up) { parts.splice(n, 1); up--; }
    }
    if (!absolute) while (up--) parts.unshift("..");
    if (absolute && parts[0] !== "" && (!parts[0] || parts[0][0] !== "/")) parts.unshift("");
    if (trailing && parts.join("/").at(-1) !== "/") parts.push("");
    if ((wasAbsolute || (out.host && parts.length)) && parts[0] !== "" && parts[0]?.[0] !== "/") parts.unshift("");
    if (parts.length === 0) { out.pathname = null; out.path = null; } else out.pathname = parts.join("/");
    out.auth = relative.auth || out.auth;
    out.slashes ||= relative.slashes;
    return paths();
  };
  const parse = function urlParse(url, parseQuery, slashesDenoteHost) {
    return url instanceof Url ? url : new Url().parse(url, parseQuery, slashesDenoteHost);
  };
  const format = function urlFormat(url, options) {
    if (typeof url === "string") url = parse(url);
    else if (typeof url !== "object" || url === null) invalidArgType("urlObject", ["Object", "string"], url);
    else if (url instanceof URL) {
      const { fragment = true, unicode = false, search = true, auth = true } = options ?? {};
      const user = auth && (url.username || url.password) ? url.username + (url.password ? ":" + url.password : "") + "@" : "";
      const name = unicode ? domainToUnicode(url.hostname) + (url.port ? ":" + url.port : "") : url.host;
      const slashes = url.host || /^[a-z.+-]+:\/\//.test(url.href) ? "//" : "";
      return url.protocol + slashes + user + name + url.pathname + (search ? url.search : "") + (fragment ? url.hash : "");
    }
    return Url.prototype.format.call(url);
  };
  const domainToUnicode = (name) => host.domainToUnicode(toASCII(`${name}`));
  const fileURLToPath = function fileURLToPath(path, options) {
    if (typeof path === "string") path = new URL(path);
    else if (!(path instanceof URL)) invalidArgType("path", ["string", "URL"], path);
    if (path.protocol !== "file:") throw coded(TypeError, "ERR_INVALID_URL_SCHEME", "The URL must be of scheme file");
    const windows = options?.windows === true;
    if ((windows ? /%2f|%5c/i : /%2f/i).test(path.pathname)) {
      throw coded(TypeError, "ERR_INVALID_FILE_URL_PATH", `File URL path must not include encoded ${windows ? "\\ or / characters" : "/ characters"}`);
    }
    if (windows) {
      const p = decodeURIComponent(path.pathname.replace(/\//g, "\\"));
      if (path.hostname !== "") return `\\\\${domainToUnicode(path.hostname)}${p}`;
      if (!/^\\[a-zA-Z]:/.test(p)) throw coded(TypeError, "ERR_INVALID_FILE_URL_PATH", "File URL path must be absolute");
      return p.slice(1);
    }
    if (path.hostname !== "") throw coded(TypeError, "ERR_INVALID_FILE_URL_HOST", 'File URL host must be "localhost" or empty on linux');
    return decodeURIComponent(path.pathname);
  };
  const pathToFileURL = function pathToFileURL(path) {
    check.string(path, "path");
    let full = use("path").resolve(path);
    if (path.endsWith("/") && !full.endsWith("/")) full += "/";
    const u = new URL("file:///");
    u.pathname = full.replace(/%/g, "%25").replace(/\\/g, "%5C").replace(/\n/g, "%0A").replace(/\r/g, "%0D").replace(/\t/g, "%09")
      .replace(/\?/g, "%3F").replace(/#/g, "%23");
    return u;
  };
  const urlToHttpOptions = function urlToHttpOptions(url) {
    const { hostname, pathname, port, username, password, search } = url;
    const o = {
      __proto__: null, ...url, protocol: url.protocol,
      hostname: hostname?.startsWith("[") ? hostname.slice(1, -1) : hostname,
      hash: url.hash, search, pathname, path: `${pathname || ""}${search || ""}`, href: url.href,
    };
    if (port !== "") o.port = Number(port);
    if (username || password) o.auth = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return o;
  };
  return {
    Url, parse, format, resolve: function urlResolve(from, to) { return parse(from, false, true).resolve(to); },
    resolveObject: function urlResolveObject(from, to) { return from ? parse(from, false, true).resolveObject(to) : to; },
    URL: globalThis.URL, URLSearchParams: globalThis.URLSearchParams, domainToASCII: (name) => toASCII(`${name}`), domainToUnicode,
    fileURLToPath, pathToFileURL, urlToHttpOptions,
    fileURLToPathBuffer: (path) => use("buffer").Buffer.from(fileURLToPath(path)),
  };
})
