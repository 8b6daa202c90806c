// The globals that are written in JavaScript. The engine runs this once for each isolate, before the program; it
// yields a function that takes the host functions (web.go) and installs everything. What later code needs of the
// language is taken here, since a program may replace any of it.
(function (host) {
  const { parseURL, setURL, encodeUTF8, decode, random, randomUUID, running, started } = host;
  const global = globalThis;
  const { apply, ownKeys, getPrototypeOf } = Reflect;
  const then = Promise.prototype.then;
  const settled = Promise.resolve();

  const define = (target, members) => {
    for (const name of ownKeys(members)) {
      if (!Object.prototype.hasOwnProperty.call(target, name)) {
        const d = Object.getOwnPropertyDescriptor(members, name);
        d.enumerable = false;
        Object.defineProperty(target, name, d);
      }
    }
  };
  const symbol = (name) => {
    if (!(name in Symbol)) Object.defineProperty(Symbol, name, { value: Symbol("Symbol." + name) });
  };
  symbol("asyncIterator");
  symbol("dispose");
  symbol("asyncDispose");

  // Built-ins that the engine lacks.
  define(Promise, {
    withResolvers() {
      let resolve, reject;
      const promise = new this((a, b) => { resolve = a; reject = b; });
      return { promise, resolve, reject };
    },
    try(f, ...args) {
      return new this((resolve) => resolve(f(...args)));
    },
  });
  define(Object, {
    groupBy(items, f) {
      const out = Object.create(null);
      let n = 0;
      for (const item of items) {
        const key = f(item, n++);
        (out[key] ??= []).push(item);
      }
      return out;
    },
  });
  define(Map, {
    groupBy(items, f) {
      const out = new Map();
      let n = 0;
      for (const item of items) {
        const key = f(item, n++);
        if (out.has(key)) out.get(key).push(item);
        else out.set(key, [item]);
      }
      return out;
    },
  });
  define(Array, {
    async fromAsync(items, f, self) {
      const out = [];
      const map = async (v) => out.push(f ? await f.call(self, await v, out.length) : await v);
      if (items[Symbol.asyncIterator]) {
        const it = items[Symbol.asyncIterator]();
        for (let r = await it.next(); !r.done; r = await it.next()) await map(r.value);
      } else if (items[Symbol.iterator]) {
        for (const v of items) await map(v);
      } else {
        for (let i = 0; i < items.length; i++) await map(items[i]);
      }
      return out;
    },
  });
  define(String.prototype, {
    isWellFormed() {
      return this.toWellFormed() === String(this);
    },
    toWellFormed() {
      return String(this).replace(/[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]/g, (m) => m.length === 2 ? m : "\ufffd");
    },
  });
  define(RegExp, {
    escape(text) {
      return text.replace(/[\\^$.*+?()[\]{}|\/]/g, "\\$&").replace(/[-,=<>#&!%:;@~'`"]/g,
        (c) => "\\x" + c.charCodeAt(0).toString(16).padStart(2, "0"));
    },
  });
  define(Error, { captureStackTrace() {} });

  // Iterator helpers.
  const iteratorPrototype = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()));
  const steps = (it) => ({ __proto__: iteratorPrototype, next: () => it.next(), return: () => it.return?.() ?? { done: true } });
  define(iteratorPrototype, {
    *map(f) { let n = 0; for (const v of steps(this)) yield f(v, n++); },
    *filter(f) { let n = 0; for (const v of steps(this)) if (f(v, n++)) yield v; },
    *flatMap(f) { let n = 0; for (const v of steps(this)) yield* f(v, n++); },
    *take(count) { if (count > 0) for (const v of steps(this)) { yield v; if (--count <= 0) return; } },
    *drop(count) { for (const v of steps(this)) if (count-- <= 0) yield v; },
    toArray() { return [...steps(this)]; },
    forEach(f) { let n = 0; for (const v of steps(this)) f(v, n++); },
    some(f) { let n = 0; for (const v of steps(this)) if (f(v, n++)) return true; return false; },
    every(f) { let n = 0; for (const v of steps(this)) if (!f(v, n++)) return false; return true; },
    find(f) { let n = 0; for (const v of steps(this)) if (f(v, n++)) return v; },
    reduce(f, ...first) {
      let n = 0, sum = first[0], have = first.length > 0;
      for (const v of steps(this)) {
        if (have) sum = f(sum, v, n);
        else { sum = v; have = true; }
        n++;
      }
      if (!have) throw new TypeError("Reduce of empty iterator with no initial value");
      return sum;
    },
  });

  // Numbers as people write them in English; the engine's own method takes a radix.
  const plain = Number.prototype.toString;
  const fixed = Number.prototype.toFixed;
  const toLocaleString = {
    toLocaleString(_, options = {}) {
      let value = Number(this);
      if (!isFinite(value)) return value === Infinity ? "∞" : value === -Infinity ? "-∞" : "NaN";
      const money = options.style === "currency", percent = options.style === "percent";
      if (percent) value *= 100;
      const least = options.minimumFractionDigits ?? (money ? 2 : 0);
      const most = options.maximumFractionDigits ?? Math.max(least, money ? 2 : percent ? 0 : 3);
      let [whole, part = ""] = apply(fixed, Math.abs(value), [most]).split(".");
      if (whole.includes("e")) return apply(plain, value, []);
      while (part.length > least && part.endsWith("0")) part = part.slice(0, -1);
      if (options.useGrouping !== false) whole = whole.replace(/\B(?=(\d{3})+$)/g, ",");
      const sign = value < 0 && (Number(whole.replace(/,/g, "")) || Number(part)) ? "-" : "";
      const unit = money ? ({ USD: "$", EUR: "€", GBP: "£", JPY: "¥" })[options.currency] ?? options.currency + " " : "";
      return sign + unit + whole + (part ? "." + part : "") + (percent ? "%" : "");
    },
  };
  Object.defineProperty(Number.prototype, "toLocaleString", {
    value: toLocaleString.toLocaleString, writable: true, configurable: true,
  });

  // lazy defines globals that are made when one of them is first used: most programs use none of them.
  const lazy = (names, make) => {
    let made;
    for (const name of names) {
      const become = (value) => Object.defineProperty(global, name, { value, writable: true, configurable: true });
      Object.defineProperty(global, name, {
        get() {
          made ??= make();
          become(made[name]);
          return made[name];
        },
        set: become,
        configurable: true,
      });
    }
  };

  lazy(["DOMException"], () => {
    class DOMException extends Error {
      #name;
      constructor(message = "", name = "Error") { super(message); this.#name = name; }
      get name() { return this.#name; }
      get code() { return { DataCloneError: 25, AbortError: 20, TimeoutError: 23 }[this.#name] ?? 0; }
    }

    return { DOMException };
  });

  // structuredClone, without what cannot exist here (ports, blobs, images).
  lazy(["structuredClone"], () => {
    const uncloneable = (what) => { throw new DOMException(what + " could not be cloned.", "DataCloneError"); };
    const errorClasses = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
    const clone = (value, seen) => {
      if (typeof value === "function") uncloneable(String(value.name || "function"));
      if (typeof value === "symbol") uncloneable(String(value));
      if (typeof value !== "object" || value === null) return value;
      if (seen.has(value)) return seen.get(value);
      const keep = (copy) => { seen.set(value, copy); return copy; };
      const copyOwn = (copy) => {
        for (const key of Object.keys(value)) {
          Object.defineProperty(copy, key,
            { value: clone(value[key], seen), writable: true, enumerable: true, configurable: true });
        }
        return copy;
      };
      if (Array.isArray(value)) return copyOwn(keep(new Array(value.length)));
      if (value instanceof Date) return keep(new Date(value.getTime()));
      if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
      if (value instanceof Map) {
        const copy = keep(new Map());
        for (const [k, v] of [...value]) copy.set(clone(k, seen), clone(v, seen));
        return copy;
      }
      if (value instanceof Set) {
        const copy = keep(new Set());
        for (const v of [...value]) copy.add(clone(v, seen));
        return copy;
      }
      if (value instanceof ArrayBuffer) return keep(value.slice(0));
      if (ArrayBuffer.isView(value)) {
        const buffer = clone(value.buffer, seen);
        return keep(new value.constructor(buffer, value.byteOffset, value.length ?? value.byteLength));
      }
      if (value instanceof Error) {
        const copy = keep(new (errorClasses[value.name] ?? Error)(value.message));
        if ("cause" in value) copy.cause = clone(value.cause, seen);
        return copy;
      }
      if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet) uncloneable("#<" + value.constructor.name + ">");
      if (value instanceof Number || value instanceof String || value instanceof Boolean) return keep(Object(value.valueOf()));
      return copyOwn(keep({}));
    };
    return {
      structuredClone(value) {
        if (arguments.length === 0) throw new TypeError("structuredClone takes a value");
        return clone(value, new Map());
      },
    };
  });

  lazy(["URL", "URLSearchParams"], () => {
    const encodeForm = (text) => encodeURIComponent(String(text).toWellFormed())
      .replace(/%20/g, "+").replace(/[!'()~]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
    const decodeForm = (text) => {
      text = text.replace(/\+/g, " ");
      if (!text.includes("%")) return text;
      const raw = new Uint8Array(encodeUTF8(text));
      const bytes = [];
      for (let i = 0; i < raw.length; i++) {
        const hex = raw[i] === 37 && i + 2 < raw.length ? String.fromCharCode(raw[i + 1], raw[i + 2]) : "";
        if (/^[\da-f]{2}$/i.test(hex)) { bytes.push(parseInt(hex, 16)); i += 2; } else bytes.push(raw[i]);
      }
      const all = new Uint8Array(bytes);
      return decode(all.buffer, 0, all.length, "utf-8", false);
    };

    class URLSearchParams {
      #list = [];
      #changed = null;
      constructor(init = "", changed = null) {
        if (typeof init === "object" && init !== null) {
          const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
          for (const pair of pairs) {
            const [k, v, ...rest] = pair;
            if (rest.length || v === undefined) throw new TypeError("URLSearchParams takes pairs of a name and a value");
            this.#list.push([String(k), String(v)]);
          }
        } else {
          this.#parse(String(init));
        }
        if (typeof changed === "function") this.#changed = changed;
      }
      #parse(text) {
        this.#list = text.replace(/^\?/, "").split("&").filter((s) => s !== "").map((s) => {
          const i = s.indexOf("=");
          return i < 0 ? [decodeForm(s), ""] : [decodeForm(s.slice(0, i)), decodeForm(s.slice(i + 1))];
        });
      }
      #write() { if (this.#changed) this.#changed(this.toString()); }
      static reset(params, text) { params.#parse(text); }
      get size() { return this.#list.length; }
      append(k, v) { this.#list.push([String(k), String(v)]); this.#write(); }
      delete(k, v) {
        this.#list = this.#list.filter((p) => p[0] !== String(k) || (v !== undefined && p[1] !== String(v)));
        this.#write();
      }
      get(k) { return this.#list.find((p) => p[0] === String(k))?.[1] ?? null; }
      getAll(k) { return this.#list.filter((p) => p[0] === String(k)).map((p) => p[1]); }
      has(k, v) { return this.#list.some((p) => p[0] === String(k) && (v === undefined || p[1] === String(v))); }
      set(k, v) {
        const first = this.#list.find((p) => p[0] === String(k));
        if (!first) return this.append(k, v);
        first[1] = String(v);
        this.#list = this.#list.filter((p) => p === first || p[0] !== String(k));
        this.#write();
      }
      sort() { this.#list.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)); this.#write(); }
      forEach(f, self) { for (const [k, v] of this) f.call(self, v, k, this); }
      *entries() { for (const [k, v] of this.#list) yield [k, v]; }
      *keys() { for (const [k] of this.#list) yield k; }
      *values() { for (const [, v] of this.#list) yield v; }
      [Symbol.iterator]() { return this.entries(); }
      toString() { return this.#list.map(([k, v]) => encodeForm(k) + "=" + encodeForm(v)).join("&"); }
      get [Symbol.toStringTag]() { return "URLSearchParams"; }
    }
    const resetParams = URLSearchParams.reset;
    delete URLSearchParams.reset;

    class URL {
      #parts;
      #params = null;
      constructor(url, base) {
        this.#parts = parseURL(String(url), base === undefined ? undefined : String(base));
        if (!this.#parts) throw new TypeError("Invalid URL: " + String(url).slice(0, 200));
      }
      static canParse(url, base) {
        return parseURL(String(url), base === undefined ? undefined : String(base)) !== undefined;
      }
      static parse(url, base) { return URL.canParse(url, base) ? new URL(url, base) : null; }
      static part(url, name) { return url.#parts[name]; }
      static assign(url, name, value) {
        const parts = name === "href" ? parseURL(value) : setURL(url.#parts.href, name, value);
        if (parts) url.#parts = parts;
        else if (name === "href") throw new TypeError("Invalid URL: " + value.slice(0, 200));
        if (url.#params && (name === "search" || name === "href")) resetParams(url.#params, url.#parts.search);
      }
      get origin() { return this.#parts.origin; }
      get searchParams() {
        return this.#params ??= new URLSearchParams(this.#parts.search, (text) => {
          this.#parts = setURL(this.#parts.href, "search", text);
        });
      }
      toString() { return this.#parts.href; }
      toJSON() { return this.#parts.href; }
      get [Symbol.toStringTag]() { return "URL"; }
    }
    const { part, assign } = URL;
    delete URL.part;
    delete URL.assign;
    for (const name of ["href", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"]) {
      Object.defineProperty(URL.prototype, name, {
        get() { return part(this, name); },
        set(value) { assign(this, name, String(value)); },
        enumerable: true, configurable: true,
      });
    }

    return { URL, URLSearchParams };
  });

  lazy(["TextEncoder", "TextDecoder"], () => {
    class TextEncoder {
      get encoding() { return "utf-8"; }
      encode(text = "") { return new Uint8Array(encodeUTF8(String(text))); }
      encodeInto(text, target) {
        let read = 0, written = 0;
        for (const c of String(text)) {
          const bytes = this.encode(c);
          if (written + bytes.length > target.length) break;
          target.set(bytes, written);
          written += bytes.length;
          read += c.length;
        }
        return { read, written };
      }
    }

    const labels = {
      "utf-8": "utf-8", utf8: "utf-8", "unicode-1-1-utf-8": "utf-8", "utf-16le": "utf-16le", "utf-16": "utf-16le",
      latin1: "latin1", "iso-8859-1": "latin1", ascii: "latin1", "us-ascii": "latin1", "windows-1252": "latin1",
    };
    class TextDecoder {
      #encoding; #fatal; #ignoreBOM; #rest = null;
      constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
        this.#encoding = labels[String(label).trim().toLowerCase()];
        if (!this.#encoding) throw new RangeError("TextDecoder: unknown encoding " + String(label).slice(0, 50));
        this.#fatal = !!fatal;
        this.#ignoreBOM = !!ignoreBOM;
      }
      get encoding() { return this.#encoding === "latin1" ? "windows-1252" : this.#encoding; }
      get fatal() { return this.#fatal; }
      get ignoreBOM() { return this.#ignoreBOM; }
      decode(input = new Uint8Array(0), { stream = false } = {}) {
        let bytes = ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
          : new Uint8Array(input);
        if (this.#rest) {
          const joined = new Uint8Array(this.#rest.length + bytes.length);
          joined.set(this.#rest);
          joined.set(bytes, this.#rest.length);
          bytes = joined;
          this.#rest = null;
        }
        let end = bytes.length;
        if (stream && this.#encoding === "utf-8") {
          // A character that is not complete waits for the next piece.
          for (let i = end - 1; i >= 0 && i >= end - 3; i--) {
            const need = bytes[i] >= 0xf0 ? 4 : bytes[i] >= 0xe0 ? 3 : bytes[i] >= 0xc0 ? 2 : bytes[i] >= 0x80 ? 0 : 1;
            if (need > 0) { if (need > end - i) end = i; break; }
          }
        } else if (stream && this.#encoding === "utf-16le") {
          end -= end % 2;
        }
        if (end < bytes.length) this.#rest = bytes.slice(end);
        let text = decode(bytes.buffer, bytes.byteOffset, end, this.#encoding, this.#fatal);
        if (text === undefined) throw new TypeError("TextDecoder: the bytes are not valid " + this.#encoding);
        if (!this.#ignoreBOM && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
        return text;
      }
    }

    return { TextEncoder, TextDecoder };
  });

  lazy(["Event", "EventTarget", "AbortSignal", "AbortController"], () => {
    class Event {
      constructor(type) { this.type = String(type); this.target = null; }
    }
    class EventTarget {
      #listeners = [];
      addEventListener(type, f, options) {
        if (f && !this.#listeners.some((l) => l.type === type && l.f === f)) {
          this.#listeners.push({ type, f, once: typeof options === "object" && !!options?.once });
        }
      }
      removeEventListener(type, f) { this.#listeners = this.#listeners.filter((l) => l.type !== type || l.f !== f); }
      dispatchEvent(event) {
        event.target = this;
        for (const l of this.#listeners.filter((l) => l.type === event.type)) {
          if (l.once) this.removeEventListener(l.type, l.f);
          if (typeof l.f === "function") l.f.call(this, event);
          else l.f.handleEvent(event);
        }
        return true;
      }
    }
    class AbortSignal extends EventTarget {
      aborted = false;
      reason = undefined;
      onabort = null;
      throwIfAborted() { if (this.aborted) throw this.reason; }
      static abort(reason) { const c = new AbortController(); c.abort(reason); return c.signal; }
      static timeout(ms) {
        const c = new AbortController();
        setTimeout(() => c.abort(new DOMException("The operation timed out.", "TimeoutError")), ms);
        return c.signal;
      }
      static any(signals) {
        const c = new AbortController();
        for (const s of signals) {
          if (s.aborted) { c.abort(s.reason); break; }
          s.addEventListener("abort", () => c.abort(s.reason), { once: true });
        }
        return c.signal;
      }
    }
    class AbortController {
      signal = new AbortSignal();
      abort(reason = new DOMException("This operation was aborted", "AbortError")) {
        const s = this.signal;
        if (s.aborted) return;
        s.aborted = true;
        s.reason = reason;
        const event = new Event("abort");
        s.onabort?.(event);
        s.dispatchEvent(event);
      }
    }

    return { Event, EventTarget, AbortSignal, AbortController };
  });

  // The engine hands a Proxy's apply and construct traps an array that it goes on to use itself, so that the
  // arguments change after an await. Traps get a copy.
  const EngineProxy = Proxy;
  const copying = (handler) => {
    if (typeof handler !== "object" || handler === null || !(handler.apply || handler.construct)) return handler;
    const copy = Object.create(handler);
    if (handler.apply) copy.apply = (target, self, args) => handler.apply(target, self, [...args]);
    if (handler.construct) copy.construct = (target, args, newTarget) => handler.construct(target, [...args], newTarget);
    return copy;
  };
  function SafeProxy(target, handler) {
    if (!new.target) throw new TypeError("Constructor Proxy requires 'new'");
    return new EngineProxy(target, copying(handler));
  }
  Object.defineProperty(SafeProxy, "name", { value: "Proxy" });
  SafeProxy.prototype = undefined;
  SafeProxy.revocable = (target, handler) => EngineProxy.revocable(target, copying(handler));

  const globals = {
    Proxy: SafeProxy,
    queueMicrotask(f) {
      if (typeof f !== "function") throw new TypeError("queueMicrotask takes a function");
      apply(then, settled, [() => { f(); }]);
    },
    crypto: {
      randomUUID: () => randomUUID(),
      getRandomValues(array) {
        if (!ArrayBuffer.isView(array)) throw new TypeError("getRandomValues takes an integer typed array");
        random(array.buffer, array.byteOffset, array.byteLength);
        return array;
      },
    },
    performance: { now: () => running(), get timeOrigin() { return started(); } },
    WeakRef: class WeakRef {
      #target;
      constructor(target) { this.#target = target; }
      deref() { return this.#target; }
    },
    FinalizationRegistry: class FinalizationRegistry { register() {} unregister() { return false; } },
  };
  for (const name of Object.keys(globals)) {
    Object.defineProperty(global, name, { value: globals[name], writable: true, configurable: true });
  }
})
