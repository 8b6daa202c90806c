// URLPattern. A pattern is read in three steps: its text becomes tokens, tokens become parts, and the parts of each
// component become a regular expression.
(function () {
  const components = ["protocol", "username", "password", "hostname", "port", "pathname", "search", "hash"];
  const special = { http: "80", https: "443", ws: "80", wss: "443", ftp: "21", file: "" };
  const fail = () => {
    throw new TypeError("Failed to construct URLPattern");
  };
  // Beyond ASCII every character may be in a name.
  const nameStart = /[$_A-Za-z\u0080-\uffff]/;
  const namePart = /[$_A-Za-z\d\u0080-\uffff]/;

  const tokenize = (input, lenient) => {
    const tokens = [];
    const chars = [...input];
    let at = 0;
    const starts = [0];
    for (const c of chars) starts.push(starts[starts.length - 1] + c.length);
    const add = (type, end, from, to) => {
      tokens.push({ type, index: starts[at], value: chars.slice(from ?? at, to ?? end).join("") });
      at = end;
    };
    const wrong = (end) => {
      if (!lenient) fail();
      add("invalid-char", end);
    };
    while (at < chars.length) {
      const c = chars[at];
      if (c === "*") add("asterisk", at + 1);
      else if (c === "+" || c === "?") add("other-modifier", at + 1);
      else if (c === "\\") {
        if (at === chars.length - 1) wrong(at + 1);
        else add("escaped-char", at + 2, at + 1);
      } else if (c === "{") add("open", at + 1);
      else if (c === "}") add("close", at + 1);
      else if (c === ":") {
        let end = at + 1;
        while (end < chars.length && (end === at + 1 ? nameStart : namePart).test(chars[end])) end++;
        if (end === at + 1) wrong(end);
        else add("name", end, at + 1);
      } else if (c === "(") {
        let depth = 1,
          end = at + 1,
          bad = false;
        while (end < chars.length) {
          const x = chars[end];
          if (x.codePointAt(0) > 0x7f || (end === at + 1 && x === "?")) bad = true;
          if (bad) break;
          if (x === "\\") {
            if (end === chars.length - 1 || chars[end + 1].codePointAt(0) > 0x7f) bad = true;
            end += 2;
            continue;
          }
          if (x === ")") {
            depth--;
            if (depth === 0) {
              end++;
              break;
            }
          } else if (x === "(") {
            depth++;
            if (chars[end + 1] !== "?") bad = true;
          }
          end++;
        }
        if (bad || depth > 0 || end === at + 2) wrong(at + 1);
        else add("regexp", end, at + 1, end - 1);
      } else add("char", at + 1);
    }
    tokens.push({ type: "end", index: input.length, value: "" });
    return tokens;
  };

  const escapeRegExp = (s) => s.replace(/[.+*?^${}()[\]|/\\]/g, "\\$&");
  const escapePattern = (s) => s.replace(/[+*?:{}()\\]/g, "\\$&");
  const wildcard = (options) => (options.delimiter ? `[^${escapeRegExp(options.delimiter)}]+?` : ".+?");

  const parse = (input, options, encode) => {
    const tokens = tokenize(input, false);
    const segment = wildcard(options);
    const parts = [];
    const names = new Set();
    let at = 0,
      fixed = "",
      next = 0;
    const take = (type) => (tokens[at].type === type ? tokens[at++] : undefined);
    const need = (type) => take(type) ?? fail();
    const flush = () => {
      if (fixed === "") return;
      parts.push({ type: "fixed", name: "", prefix: "", value: encode(fixed), suffix: "", modifier: "" });
      fixed = "";
    };
    const matcher = (name) => take("regexp") ?? (name ? undefined : take("asterisk"));
    const modifierOf = () => (take("other-modifier") ?? take("asterisk"))?.value ?? "";
    const text = () => {
      let s = "";
      for (;;) {
        const t = take("char") ?? take("escaped-char");
        if (!t) return s;
        s += t.value;
      }
    };
    const add = (prefix, name, match, suffix, modifier) => {
      if (!name && !match && modifier === "") {
        fixed += prefix;
        return;
      }
      flush();
      if (!name && !match) {
        if (prefix !== "") {
          parts.push({ type: "fixed", name: "", prefix: "", value: encode(prefix), suffix: "", modifier });
        }
        return;
      }
      let value = !match ? segment : match.type === "asterisk" ? ".*" : match.value;
      let type = "regexp";
      if (value === segment) [type, value] = ["segment", ""];
      else if (value === ".*") [type, value] = ["full", ""];
      const key = name ? name.value : String(next++);
      if (names.has(key)) fail();
      names.add(key);
      parts.push({ type, name: key, prefix: encode(prefix), value, suffix: encode(suffix), modifier });
    };
    while (at < tokens.length) {
      const char = take("char");
      const name = take("name");
      const match = matcher(name);
      if (name || match) {
        let prefix = char?.value ?? "";
        if (prefix !== "" && prefix !== options.prefix) {
          fixed += prefix;
          prefix = "";
        }
        flush();
        add(prefix, name, match, "", modifierOf());
        continue;
      }
      const plain = char ?? take("escaped-char");
      if (plain) {
        fixed += plain.value;
        continue;
      }
      if (take("open")) {
        const prefix = text();
        const inner = take("name");
        const innerMatch = matcher(inner);
        const suffix = text();
        need("close");
        add(prefix, inner, innerMatch, suffix, modifierOf());
        continue;
      }
      flush();
      need("end");
    }
    return parts;
  };

  const expression = (parts, options, ignoreCase) => {
    const names = [];
    let source = "^";
    for (const p of parts) {
      if (p.type === "fixed") {
        source += p.modifier === "" ? escapeRegExp(p.value) : `(?:${escapeRegExp(p.value)})${p.modifier}`;
        continue;
      }
      names.push(p.name);
      const value = p.type === "segment" ? wildcard(options) : p.type === "full" ? ".*" : p.value;
      const before = escapeRegExp(p.prefix),
        after = escapeRegExp(p.suffix);
      const once = p.modifier === "" || p.modifier === "?";
      if (before === "" && after === "") source += once ? `(${value})${p.modifier}` : `((?:${value})${p.modifier})`;
      else if (once) source += `(?:${before}(${value})${after})${p.modifier}`;
      else {
        source += `(?:${before}((?:${value})(?:${after}${before}(?:${value}))*)${after})${p.modifier === "*" ? "?" : ""}`;
      }
    }
    let regexp;
    try {
      regexp = new RegExp(source + "$", ignoreCase ? "ui" : "u");
    } catch {
      fail();
    }
    return { regexp, names };
  };

  // written is the pattern as it is shown: parts in their shortest form.
  const written = (parts, options) => {
    let out = "";
    parts.forEach((p, n) => {
      if (p.type === "fixed") {
        out += p.modifier === "" ? escapePattern(p.value) : `{${escapePattern(p.value)}}${p.modifier}`;
        return;
      }
      const previous = parts[n - 1],
        following = parts[n + 1];
      const custom = !/^\d/.test(p.name);
      let grouped = p.suffix !== "" || (p.prefix !== "" && p.prefix !== options.prefix);
      if (
        !grouped &&
        custom &&
        p.type === "segment" &&
        p.modifier === "" &&
        following &&
        following.prefix === "" &&
        following.suffix === ""
      ) {
        grouped =
          following.type === "fixed" ? namePart.test([...following.value][0] ?? " ") : /^\d/.test(following.name);
      }
      if (
        !grouped &&
        p.prefix === "" &&
        previous?.type === "fixed" &&
        options.prefix &&
        previous.value.endsWith(options.prefix)
      )
        grouped = true;
      if (grouped) out += "{";
      out += escapePattern(p.prefix);
      if (custom) out += ":" + p.name;
      if (p.type === "regexp") out += `(${p.value})`;
      else if (p.type === "segment" && !custom) out += `(${wildcard(options)})`;
      else if (p.type === "full") {
        if (
          !custom &&
          (!previous || previous.type === "fixed" || previous.modifier !== "" || grouped || p.prefix !== "")
        )
          out += "*";
        else out += "(.*)";
      }
      if (p.type === "segment" && custom && p.suffix !== "" && namePart.test([...p.suffix][0])) out += "\\";
      out += escapePattern(p.suffix);
      if (grouped) out += "}";
      out += p.modifier;
    });
    return out;
  };

  // How each component is written in a URL.
  const dummy = () => new URL("http://dummy.test/");
  const canonical = {
    protocol: (v) => (v === "" ? v : new URL(`${v}://dummy.test`).protocol.slice(0, -1)),
    username(v) {
      const u = dummy();
      u.username = v;
      return u.username;
    },
    password(v) {
      const u = dummy();
      u.password = v;
      return u.password;
    },
    hostname(v) {
      if (v === "") return v;
      if (/[\s#%/:<>?@\\^|]/.test(v) && !v.startsWith("[")) fail();
      const u = dummy();
      u.hostname = v;
      if (u.hostname === "dummy.test" && v.toLowerCase() !== "dummy.test") fail();
      return u.hostname;
    },
    ipv6: (v) => (/^[\da-f[\]:]*$/i.test(v) ? v.toLowerCase() : fail()),
    port(v, protocol) {
      if (v === "") return v;
      if (!/^\d+$/.test(v) || Number(v) > 65535) fail();
      return special[protocol] === String(Number(v)) ? "" : String(Number(v));
    },
    pathname(v) {
      if (v === "") return v;
      const u = dummy();
      const lead = v[0] === "/";
      u.pathname = lead ? v : "/-" + v;
      return lead ? u.pathname : u.pathname.slice(2);
    },
    opaque: (v) => (v === "" ? v : new URL("data:" + v).pathname),
    search(v) {
      const u = dummy();
      u.search = v;
      return u.search.slice(1);
    },
    hash(v) {
      const u = dummy();
      u.hash = v;
      return u.hash.slice(1);
    },
  };

  // constructorString cuts a pattern for whole URLs into its components.
  const constructorString = (input) => {
    const tokens = tokenize(input, true);
    const result = {};
    let start = 0,
      at = 0,
      step = 1,
      depth = 0,
      brackets = 0,
      isSpecial = false,
      state = "init";
    const token = (n) => tokens[n] ?? tokens[tokens.length - 1];
    const is = (n, value) =>
      token(n).value === value && ["char", "escaped-char", "invalid-char"].includes(token(n).type);
    const component = () => input.slice(token(start).index, token(at).index);
    const searchPrefix = () => {
      if (is(at, "?")) return true;
      if (token(at).value !== "?" || token(at).type === "name") return false;
      return at === 0 || !["name", "regexp", "close", "asterisk"].includes(token(at - 1).type);
    };
    const within = (s, from, to) =>
      components.indexOf(s) >= components.indexOf(from) && components.indexOf(s) <= components.indexOf(to);
    const change = (to, skip) => {
      if (!["init", "authority", "done"].includes(state)) result[state] = component();
      if (state !== "init" && to !== "done") {
        if (["protocol", "authority", "username", "password"].includes(state) && within(to, "port", "hash"))
          result.hostname ??= "";
        if ((state === "authority" || within(state, "protocol", "port")) && (to === "search" || to === "hash")) {
          result.pathname ??= isSpecial ? "/" : "";
        }
        if ((state === "authority" || within(state, "protocol", "pathname")) && to === "hash") result.search ??= "";
      }
      state = to;
      at += skip;
      start = at;
      step = 0;
    };
    const rewind = (to) => {
      at = start;
      step = 0;
      if (to) state = to;
    };
    const rest = () => {
      if (is(at, "/")) change("pathname", 0);
      else if (searchPrefix()) change("search", 1);
      else if (is(at, "#")) change("hash", 1);
    };
    for (; at < tokens.length; at += step) {
      step = 1;
      const t = tokens[at];
      if (t.type === "end") {
        if (state === "init") {
          rewind();
          if (is(at, "#")) change("hash", 1);
          else if (searchPrefix()) change("search", 1);
          else change("pathname", 0);
          continue;
        }
        if (state === "authority") {
          rewind("hostname");
          continue;
        }
        change("done", 0);
        break;
      }
      if (t.type === "open") {
        depth++;
        continue;
      }
      if (depth > 0) {
        if (t.type === "close") depth--;
        else continue;
      }
      const separator = is(at, ":");
      if (state === "init") {
        if (separator) rewind("protocol");
      } else if (state === "protocol") {
        if (!separator) continue;
        const { regexp } = expression(parse(component(), {}, canonical.protocol), {}, false);
        isSpecial = Object.keys(special).some((s) => regexp.test(s));
        if (is(at + 1, "/") && is(at + 2, "/")) change("authority", 3);
        else change(isSpecial ? "authority" : "pathname", 1);
      } else if (state === "authority") {
        if (is(at, "@")) rewind("username");
        else if (is(at, "/") || searchPrefix() || is(at, "#")) rewind("hostname");
      } else if (state === "username") {
        if (separator) change("password", 1);
        else if (is(at, "@")) change("hostname", 1);
      } else if (state === "password") {
        if (is(at, "@")) change("hostname", 1);
      } else if (state === "hostname") {
        if (is(at, "[")) brackets++;
        else if (is(at, "]")) brackets--;
        else if (separator && brackets === 0) change("port", 1);
        else rest();
      } else if (state === "port") rest();
      else if (state === "pathname") {
        if (searchPrefix()) change("search", 1);
        else if (is(at, "#")) change("hash", 1);
      } else if (state === "search") {
        if (is(at, "#")) change("hash", 1);
      }
    }
    if (result.hostname !== undefined) result.port ??= "";
    return result;
  };

  // complete adds to what an init names what it takes from its base.
  const complete = (init, pattern) => {
    const out = {};
    if (!pattern) for (const c of components) out[c] = "";
    let base;
    if (init.baseURL !== undefined) {
      try {
        base = new URL(init.baseURL);
      } catch {
        fail();
      }
      const own = (s) => (pattern ? escapePattern(s) : s);
      const lacks = (...names) => names.every((n) => init[n] === undefined);
      if (lacks("protocol")) out.protocol = own(base.protocol.slice(0, -1));
      if (!pattern && lacks("protocol", "hostname", "port", "username")) out.username = base.username;
      if (!pattern && lacks("protocol", "hostname", "port", "username", "password")) out.password = base.password;
      if (lacks("protocol", "hostname")) out.hostname = own(base.hostname);
      if (lacks("protocol", "hostname", "port")) out.port = base.port;
      if (lacks("protocol", "hostname", "port", "pathname")) out.pathname = own(base.pathname);
      if (lacks("protocol", "hostname", "port", "pathname", "search")) out.search = own(base.search.slice(1));
      if (lacks("protocol", "hostname", "port", "pathname", "search", "hash")) out.hash = own(base.hash.slice(1));
    }
    const put = (name, trim, encode) => {
      if (init[name] === undefined) return;
      const v = trim(String(init[name]));
      out[name] = pattern ? v : encode(v);
    };
    const same = (v) => v;
    put("protocol", (v) => v.replace(/:$/, ""), canonical.protocol);
    put("username", same, canonical.username);
    put("password", same, canonical.password);
    put("hostname", same, canonical.hostname);
    put("port", same, (v) => canonical.port(v, out.protocol));
    const standard = (v) => out.protocol === undefined || out.protocol === "" || out.protocol in special;
    put(
      "pathname",
      (v) => {
        const absolute = v[0] === "/" || (pattern && (/^\\\//.test(v) || /^\{\//.test(v)));
        if (!base || absolute || !base.pathname.startsWith("/")) return v;
        const end = base.pathname.lastIndexOf("/") + 1;
        return (pattern ? escapePattern(base.pathname.slice(0, end)) : base.pathname.slice(0, end)) + v;
      },
      (v) => (standard() ? canonical.pathname(v) : canonical.opaque(v)),
    );
    put("search", (v) => v.replace(/^\?/, ""), canonical.search);
    put("hash", (v) => v.replace(/^#/, ""), canonical.hash);
    return out;
  };

  class URLPattern {
    #compiled = {};
    constructor(input = {}, second, third) {
      try {
        this.#build(input, second, third);
      } catch (e) {
        throw e instanceof TypeError ? new TypeError("Failed to construct URLPattern") : e;
      }
    }
    #build(input, second, third) {
      const base = typeof second === "string" ? second : undefined;
      const options = typeof second === "object" && second !== null ? second : third;
      let init;
      if (typeof input === "object" && input !== null) {
        if (base !== undefined) fail();
        init = input;
      } else {
        init = constructorString(String(input));
        if (base === undefined && init.protocol === undefined) fail();
        if (base !== undefined) init.baseURL = base;
      }
      const all = complete(init, true);
      for (const c of components) all[c] ??= "*";
      if (all.protocol in special && special[all.protocol] === all.port) all.port = "";
      const compile = (name, settings, encode, ignoreCase = false) => {
        const parts = parse(all[name], settings, encode);
        this.#compiled[name] = { ...expression(parts, settings, ignoreCase), text: written(parts, settings), parts };
      };
      compile("protocol", {}, canonical.protocol);
      compile("username", {}, canonical.username);
      compile("password", {}, canonical.password);
      const six = /^(\[|\{\[|\\\[|\{:\[)/.test(all.hostname);
      compile("hostname", { delimiter: "." }, six ? canonical.ipv6 : canonical.hostname);
      compile("port", {}, (v) => canonical.port(v));
      const hierarchical = Object.keys(special).some((s) => this.#compiled.protocol.regexp.test(s));
      const ignoreCase = !!options?.ignoreCase;
      if (hierarchical) compile("pathname", { delimiter: "/", prefix: "/" }, canonical.pathname, ignoreCase);
      else compile("pathname", {}, canonical.opaque, ignoreCase);
      compile("search", {}, canonical.search, ignoreCase);
      compile("hash", {}, canonical.hash, ignoreCase);
    }
    #match(input, base) {
      let parts;
      try {
        if (typeof input === "object" && input !== null) {
          if (base !== undefined) fail();
          parts = complete(input, false);
        } else {
          const u = new URL(String(input), base);
          parts = {};
          for (const c of components) parts[c] = u[c];
          parts.protocol = u.protocol.slice(0, -1);
          parts.search = u.search.slice(1);
          parts.hash = u.hash.slice(1);
        }
      } catch (e) {
        if (typeof input === "object" && input !== null && base !== undefined) throw e;
        return null;
      }
      let given = input;
      if (typeof input === "object" && input !== null) {
        given = {};
        for (const c of [...components, "baseURL"]) given[c] = input[c];
      }
      const out = { inputs: base === undefined ? [given] : [given, base] };
      for (const c of components) {
        const { regexp, names } = this.#compiled[c];
        const m = regexp.exec(parts[c]);
        if (!m) return null;
        const groups = {};
        names.forEach((n, k) => {
          groups[n] = m[k + 1];
        });
        out[c] = { input: parts[c], groups };
      }
      return out;
    }
    test(input = {}, base) {
      return this.#match(input, base) !== null;
    }
    exec(input = {}, base) {
      return this.#match(input, base);
    }
    get hasRegExpGroups() {
      return components.some((c) => this.#compiled[c].parts.some((p) => p.type === "regexp"));
    }
    static {
      for (const c of components) {
        Object.defineProperty(URLPattern.prototype, c, {
          get() {
            return this.#compiled[c].text;
          },
          enumerable: true,
          configurable: true,
        });
      }
    }
  }
  Object.defineProperty(URLPattern.prototype, Symbol.toStringTag, { value: "URLPattern", configurable: true });
  return { URLPattern };
});
