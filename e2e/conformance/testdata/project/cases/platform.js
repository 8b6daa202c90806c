import { area } from "../probe.js";
import * as workers from "cloudflare:workers";

const text = (b) => [...new Uint8Array(b)].map((x) => x.toString(16).padStart(2, "0")).join("");
const utf8 = (s) => new TextEncoder().encode(s);
const read = async (stream) => {
  const out = [];
  for await (const part of stream) out.push(part);
  return out;
};

// What may not be done while a module is loaded.
const atLoad = {};
const attempt = (name, run) => {
  try {
    const v = run();
    atLoad[name] = v instanceof Promise ? v.then(() => "resolved", (e) => e) : typeof v;
  } catch (e) {
    atLoad[name] = e;
  }
};
attempt("timer", () => setTimeout(() => {}, 1));
attempt("interval", () => setInterval(() => {}, 1));
attempt("fetch", () => fetch("http://127.0.0.1/"));
attempt("random values", () => crypto.getRandomValues(new Uint8Array(1)));
attempt("random UUID", () => crypto.randomUUID());
attempt("Math.random", () => Math.random());
attempt("response", () => new Response("a"));
attempt("request", () => new Request("http://a/"));
attempt("response without a body", () => new Response(null));
attempt("headers", () => new Headers());
attempt("digest", () => crypto.subtle.digest("SHA-256", new Uint8Array(1)));
attempt("generateKey", () => crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, false, ["sign"]));
attempt("stream", () => new ReadableStream({}));
attempt("abort signal", () => AbortSignal.timeout(5));
attempt("abort controller", () => new AbortController());
attempt("wait", () => scheduler.wait(1));
attempt("cache", () => caches.default.match("http://a/"));
attempt("eval", () => (0, eval)("1"));
attempt("function of text", () => new Function("return 1")());
attempt("structuredClone", () => structuredClone({}));
attempt("microtask", () => queueMicrotask(() => {}));
attempt("performance", () => performance.now());
const loadedAt = Date.now();

// H-1: exports. H-9: passThroughOnException. H-10: the context's keys. H-11: the module cloudflare:workers. H-12: the environment can be
// imported. H-15: eval and new Function. H-16: the time at load. H-17: what may not be done at load. CTX-13:
// ctx.exports.
area("scope", {
  worker: {
    ...Object.fromEntries(Object.keys(atLoad).map((k) => ["at load: " + k, () => atLoad[k]])),
    "at load: the time": () => loadedAt === 0,
    "eval": () => (0, eval)("1"),
    "function of text": () => new Function("return 1")(),
    "async function of text": () => new (async () => {}).constructor("return 1")(),
    "timer of text": () => setTimeout("1", 0),
    "globals": () =>
      ["process", "Buffer", "global", "setImmediate", "MessageChannel", "WeakRef", "FinalizationRegistry", "navigator", "gc", "window", "document", "alert", "require", "module", "XMLHttpRequest", "localStorage", "importScripts"]
        .map((k) => k + " " + typeof globalThis[k]),
    "timer's handle": () => {
      const t = setTimeout(() => {}, 0);
      clearTimeout(t);
      return typeof t;
    },
    "strict": () => (function () { return this; })() === undefined,
    "user agent": () => navigator.userAgent,
    "compatibility flags": () => Object.keys(Cloudflare.compatibilityFlags ?? {}).length > 0,
    "module": () => Object.keys(workers).sort(),
    "module's environment": ({ env }) => [workers.env === env, workers.env.TEXT],
    "exports": ({ ctx }) => (ctx.exports ? Object.keys(ctx.exports).sort() : "none"),
    "context's keys": ({ ctx }) => Object.keys(ctx).sort(),
    "props": ({ ctx }) => ctx.props,
    "tags": ({ env, ctx, request }) => [env, ctx, request, new Headers(), globalThis, crypto].map((v) => Object.prototype.toString.call(v)),
    "import of what is not there": () => import(["not", "there"].join("")),
    "import of a module": async () => Object.keys(await import("cloudflare:workers")).length > 3,
    "import of node": async () => typeof (await import(["node", "util"].join(":"))).inspect,
    "import.meta": () => typeof import.meta.url,
    "top of the stack": () => new Error("m").stack.split("\n")[0],
    "waitUntil": ({ ctx }) => ctx.waitUntil(Promise.resolve(1)),
    "waitUntil taken off": ({ ctx }) => (0, ctx.waitUntil)(Promise.resolve(1)),
    "passThroughOnException": ({ ctx }) => ctx.passThroughOnException(),
    "errors of the engine": () => {
      const out = [];
      for (const f of [() => undefined.a, () => null.a.b, () => x.y, () => JSON.parse("{"), () => decodeURIComponent("%"), () => "a".repeat(-1), () => [].reduce((a) => a), () => new Array(-1), () => BigInt("x"), () => Symbol() + "", () => ({}).a(), () => [...5]]) {
        try { f(); } catch (e) { out.push(`${e.name}: ${e.message}`); }
      }
      return out;
    },
  },
});

area("streams", {
  worker: {
    "read": async () => read(new ReadableStream({ start(c) { c.enqueue("a"); c.enqueue(1); c.close(); } })),
    "pull": async () => { let n = 0; return read(new ReadableStream({ pull(c) { n < 3 ? c.enqueue(n++) : c.close(); } })); },
    "error": async () => read(new ReadableStream({ start(c) { c.error(new RangeError("e")); } })),
    "cancel": async () => { let why; const s = new ReadableStream({ cancel(r) { why = r; } }); return [await s.cancel("r"), why]; },
    "cancel of a locked one": async () => { const s = new ReadableStream(); s.getReader(); return s.cancel(); },
    "two readers": () => { const s = new ReadableStream(); s.getReader(); s.getReader(); },
    "tee": async () => { const [a, b] = new Response("ab").body.tee(); return [await new Response(a).text(), await new Response(b).text()]; },
    "transform": async () => read(new ReadableStream({ start(c) { c.enqueue("a"); c.close(); } }).pipeThrough(new TransformStream({ transform(x, c) { c.enqueue(x + x); }, flush(c) { c.enqueue("end"); } }))),
    "identity of text": async () => { const { readable, writable } = new TransformStream(); const w = writable.getWriter(); w.write("a"); w.close(); return read(readable); },
    "pipeTo": async () => { const out = []; await new ReadableStream({ start(c) { c.enqueue(1); c.close(); } }).pipeTo(new WritableStream({ write(x) { out.push(x); }, close() { out.push("closed"); } })); return out; },
    "pipeTo that fails": async () => new ReadableStream({ start(c) { c.enqueue(1); } }).pipeTo(new WritableStream({ write() { throw new RangeError("w"); } })),
    "body of text parts": () => new Response(new ReadableStream({ start(c) { c.enqueue("a"); c.close(); } })).text(),
    "body of byte parts": () => new Response(new ReadableStream({ start(c) { c.enqueue(utf8("a")); c.enqueue(utf8("b")); c.close(); } })).text(),
    "byte stream by a reader's buffer": async () => {
      const s = new ReadableStream({ type: "bytes", start(c) { c.enqueue(new Uint8Array([1, 2, 3])); c.close(); } });
      const r = s.getReader({ mode: "byob" });
      const { value, done } = await r.read(new Uint8Array(2));
      return [value, done];
    },
    "body by a reader's buffer": async () => { const r = new Response("abc").body.getReader({ mode: "byob" }); return r.read(new Uint8Array(5)); },
    "body by parts": async () => (await read(new Response("abc").body)).map((p) => [p.constructor.name, p.length]),
    "identity stream": async () => { const { readable, writable } = new IdentityTransformStream(); const w = writable.getWriter(); w.write(utf8("a")); w.close(); return new Response(readable).text(); },
    "identity stream of text": async () => { const { readable, writable } = new IdentityTransformStream(); const w = writable.getWriter(); const p = w.write("a").catch((e) => e); readable.cancel(); return p; },
    "fixed length": async () => { const { readable, writable } = new FixedLengthStream(1); const w = writable.getWriter(); w.write(utf8("a")); w.close(); return new Response(readable).text(); },
    "fixed length exceeded": async () => { const { readable, writable } = new FixedLengthStream(1); const w = writable.getWriter(); const p = w.write(utf8("ab")).catch((e) => e); new Response(readable).text().catch(() => {}); return p; },
    "text streams": async () => read(new Response("h\u20ac").body.pipeThrough(new TextDecoderStream()).pipeThrough(new TransformStream())),
    "text encoder stream": async () => read(new ReadableStream({ start(c) { c.enqueue("\ud83d"); c.enqueue("\ude00"); c.close(); } }).pipeThrough(new TextEncoderStream())),
    "gzip and back": async () => new Response(new Response("hello").body.pipeThrough(new CompressionStream("gzip")).pipeThrough(new DecompressionStream("gzip"))).text(),
    "compression of another kind": () => new CompressionStream("lzma"),
    "desired size": () => { let d; new ReadableStream({ start(c) { d = [c.desiredSize]; c.enqueue(1); d.push(c.desiredSize); } }, { highWaterMark: 3 }); return d; },
    "from": async () => read(ReadableStream.from(["a", "b"])),
    "writer's ready": async () => { const w = new WritableStream({}).getWriter(); return [w.desiredSize, await w.ready]; },
    "writer closed twice": async () => { const w = new WritableStream({}).getWriter(); await w.close(); return w.close(); },
  },
});

area("encoding", {
  worker: {
    "decoder of labels": () => ["utf8", "ascii", "iso-8859-2", "koi8-r", "windows-1251", "big5", "euc-kr", "utf-16le", "x-user-defined"].map((l) => { try { return new TextDecoder(l).encoding; } catch (e) { return e; } }),
    "decoder streaming": () => { const d = new TextDecoder(); return [d.decode(new Uint8Array([0xf0, 0x9f]), { stream: true }), d.decode(new Uint8Array([0x98, 0x80])), d.decode()]; },
    "decoder fatal streaming": () => { const d = new TextDecoder("utf-8", { fatal: true }); d.decode(new Uint8Array([0xf0]), { stream: true }); return d.decode(); },
    "decoder of windows-1251": () => new TextDecoder("windows-1251").decode(new Uint8Array([0xcf, 0xf0])),
    "encoder of surrogates": () => utf8("a\udc00b"),
    "encodeInto short": () => new TextEncoder().encodeInto("\u20ac\u20ac", new Uint8Array(5)),
    "atob": () => ["", "YQ", "YQ==", "Y Q=\n="].map((s) => atob(s)),
    "atob bad": () => ["Y", "YQ=", "Y*==", "=", "YQ==="].map((s) => { try { return atob(s); } catch (e) { return `${e.name}: ${e.message}`; } }),
    "btoa": () => [btoa(""), btoa("\u00ff\0"), btoa(null)],
    "hex of bytes": () => typeof new Uint8Array(1).toHex,
    "base64 of bytes": () => typeof Uint8Array.fromBase64,
    "digest": async () => Object.fromEntries(await Promise.all(["SHA-1", "SHA-256", "SHA-384", "SHA-512", "MD5"].map(async (a) => [a, text(await crypto.subtle.digest(a, utf8("a"))).slice(0, 16)]))),
    "digest of another kind": () => crypto.subtle.digest("SHA-3", utf8("a")),
    "digest of text": () => crypto.subtle.digest("SHA-256", "a"),
    "hmac": async () => { const k = await crypto.subtle.importKey("raw", utf8("k"), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]); const s = await crypto.subtle.sign("HMAC", k, utf8("a")); return [text(s).slice(0, 16), await crypto.subtle.verify("HMAC", k, s, utf8("a")), k.type, k.extractable, k.algorithm, k.usages]; },
    "hmac without the use": async () => { const k = await crypto.subtle.importKey("raw", utf8("k"), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]); return crypto.subtle.sign("HMAC", k, utf8("a")); },
    "export of what may not be": async () => { const k = await crypto.subtle.importKey("raw", utf8("k"), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]); return crypto.subtle.exportKey("raw", k); },
    "aes-gcm": async () => { const k = await crypto.subtle.importKey("raw", new Uint8Array(16), "AES-GCM", true, ["encrypt", "decrypt"]); const iv = new Uint8Array(12); const c = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, k, utf8("a")); return [text(c).slice(0, 8), text(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, k, c))]; },
    "aes-gcm tampered": async () => { const k = await crypto.subtle.importKey("raw", new Uint8Array(16), "AES-GCM", true, ["decrypt"]); return crypto.subtle.decrypt({ name: "AES-GCM", iv: new Uint8Array(12) }, k, new Uint8Array(20)); },
    "aes key of a bad length": () => crypto.subtle.importKey("raw", new Uint8Array(15), "AES-GCM", true, ["encrypt"]),
    "pbkdf2": async () => { const k = await crypto.subtle.importKey("raw", utf8("p"), "PBKDF2", false, ["deriveBits"]); return text(await crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-256", salt: utf8("s"), iterations: 10 }, k, 64)); },
    "hkdf": async () => { const k = await crypto.subtle.importKey("raw", utf8("p"), "HKDF", false, ["deriveBits"]); return text(await crypto.subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt: utf8("s"), info: utf8("i") }, k, 64)); },
    "ecdsa": async () => { const k = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]); const s = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, k.privateKey, utf8("a")); const jwk = await crypto.subtle.exportKey("jwk", k.publicKey); return [s.byteLength, await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, k.publicKey, s, utf8("a")), Object.keys(jwk).sort(), k.publicKey.algorithm]; },
    "ed25519": async () => { const k = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]); const s = await crypto.subtle.sign("Ed25519", k.privateKey, utf8("a")); return [s.byteLength, await crypto.subtle.verify("Ed25519", k.publicKey, s, utf8("a"))]; },
    "import of a bad format": () => crypto.subtle.importKey("x", utf8("a"), "AES-GCM", true, ["encrypt"]),
    "timingSafeEqual": () => [crypto.subtle.timingSafeEqual(utf8("a"), utf8("a")), crypto.subtle.timingSafeEqual(utf8("a"), utf8("b"))],
    "timingSafeEqual of other lengths": () => crypto.subtle.timingSafeEqual(utf8("a"), utf8("ab")),
    "random UUID": () => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()),
    "digest stream": async () => { const d = new crypto.DigestStream("SHA-256"); const w = d.getWriter(); w.write(utf8("a")); w.close(); return text(await d.digest).slice(0, 16); },
  },
});

area("clone", {
  worker: {
    "error": () => { const e = structuredClone(Object.assign(new RangeError("m", { cause: "c" }), { x: 1 })); return [e, e instanceof RangeError, e.x]; },
    "error of a class": () => structuredClone(new (class A extends Error { name = "A"; })("m")),
    "buffers are shared": () => { const b = new ArrayBuffer(4); const c = structuredClone([new Uint8Array(b), new Uint8Array(b, 1, 2)]); return [c[0].buffer === c[1].buffer, c[1].byteOffset]; },
    "transfer of what cannot be": () => structuredClone(1, { transfer: [{}] }),
    "transfer twice": () => { const b = new ArrayBuffer(1); return structuredClone(b, { transfer: [b, b] }); },
    "detached": () => { const b = new ArrayBuffer(1); structuredClone(b, { transfer: [b] }); return structuredClone(b); },
    "getter": () => structuredClone({ get a() { return 1; } }),
    "getter that throws": () => structuredClone({ get a() { throw new RangeError("g"); } }),
    "prototype is lost": () => structuredClone(Object.create({ a: 1 })),
    "symbol keys are lost": () => Reflect.ownKeys(structuredClone({ [Symbol("s")]: 1, b: 2 })),
    "arguments": () => (function () { return structuredClone(arguments); })(1, 2),
    "generator": () => structuredClone((function* () {})()),
    "proxy": () => structuredClone(new Proxy({}, {})),
    "invalid date": () => structuredClone(new Date(NaN)).getTime(),
    "regexp's lastIndex": () => { const r = /a/g; r.lastIndex = 3; return structuredClone(r).lastIndex; },
    "boxed": () => ["s", 1, true, 5n].map((v) => typeof structuredClone(Object(v))),
    "typed arrays": () => [Int8Array, Uint8ClampedArray, Float32Array, Float64Array, BigInt64Array].map((T) => structuredClone(new T(2)).constructor.name),
    "array with properties": () => Object.keys(structuredClone(Object.assign([1], { a: 2 }))),
    "deep": () => { let v = {}; for (let i = 0; i < 500; i++) v = { v }; let n = 0; for (let c = structuredClone(v); c.v; c = c.v) n++; return n; },
    "event": () => structuredClone(new Event("a")),
    "abort signal": () => structuredClone(new AbortController().signal),
    "form": () => structuredClone(new FormData()),
    "blob": async () => structuredClone(new Blob(["a"])).text(),
    "request": () => structuredClone(new Request("http://a/")),
    "environment": ({ env }) => Object.keys(structuredClone({ ...env, PROBE: 0, LEGACY: 0, SILENT: 0, FAILING: 0, BLOCKING: 0, PLAIN: 0, SELF: 0 })).sort(),
  },
});

area("events", {
  worker: {
    "order": () => { const t = new EventTarget(); const o = []; for (const n of [1, 2, 3]) t.addEventListener("x", () => o.push(n)); t.dispatchEvent(new Event("x")); return o; },
    "same listener twice": () => { const t = new EventTarget(); let n = 0; const f = () => n++; t.addEventListener("x", f); t.addEventListener("x", f); t.dispatchEvent(new Event("x")); return n; },
    "removed while dispatched": () => { const t = new EventTarget(); const o = []; const b = () => o.push("b"); t.addEventListener("x", () => { o.push("a"); t.removeEventListener("x", b); }); t.addEventListener("x", b); t.dispatchEvent(new Event("x")); return o; },
    "stopped": () => { const t = new EventTarget(); const o = []; t.addEventListener("x", (e) => { o.push("a"); e.stopImmediatePropagation(); }); t.addEventListener("x", () => o.push("b")); t.dispatchEvent(new Event("x")); return o; },
    "handleEvent": () => { const t = new EventTarget(); let v; t.addEventListener("x", { handleEvent(e) { v = [e.type, this.n]; }, n: 1 }); t.dispatchEvent(new Event("x")); return v; },
    "of a signal": () => { const t = new EventTarget(); const c = new AbortController(); let n = 0; t.addEventListener("x", () => n++, { signal: c.signal }); c.abort(); t.dispatchEvent(new Event("x")); return n; },
    "fields": () => { const e = new Event("x", { bubbles: true, cancelable: true, composed: true }); return [e.type, e.bubbles, e.cancelable, e.composed, e.defaultPrevented, e.eventPhase, e.returnValue, e.isTrusted, e.target, e.currentTarget, e.composedPath()]; },
    "fields while dispatched": () => { const t = new EventTarget(); let v; t.addEventListener("x", (e) => { v = [e.target === t, e.currentTarget === t, e.eventPhase, e.srcElement === t]; }); t.dispatchEvent(new Event("x")); return v; },
    "prevented": () => { const t = new EventTarget(); t.addEventListener("x", (e) => e.preventDefault()); return [t.dispatchEvent(new Event("x")), t.dispatchEvent(new Event("x", { cancelable: true }))]; },
    "dispatched twice at once": () => { const t = new EventTarget(); let v; t.addEventListener("x", (e) => { try { t.dispatchEvent(e); } catch (x) { v = x; } }); t.dispatchEvent(new Event("x")); return v; },
    "abort": () => { const c = new AbortController(); const o = []; c.signal.onabort = (e) => o.push("on " + e.type); c.signal.addEventListener("abort", () => o.push("listener")); c.abort(); c.abort("again"); return [o, c.signal.aborted, c.signal.reason]; },
    "abort with undefined": () => AbortSignal.abort(undefined).reason,
    "throwIfAborted": () => AbortSignal.abort(new RangeError("why")).throwIfAborted(),
    "any": () => { const c = new AbortController(); const s = AbortSignal.any([c.signal, AbortSignal.abort("x")]); return [s.aborted, s.reason]; },
    "any of none": () => AbortSignal.any([]).aborted,
    "timeout": async () => { const s = AbortSignal.timeout(5); await scheduler.wait(30); return [s.aborted, s.reason]; },
    "timeout of a bad time": () => AbortSignal.timeout(-1),
    "custom": () => new CustomEvent("x", { detail: { a: 1 } }).detail,
    "timers in order": async () => { const o = []; for (const ms of [20, 0, 10, 0]) setTimeout(() => o.push(ms), ms); await scheduler.wait(60); return o; },
    "interval ends": async () => { let n = 0; const t = setInterval(() => { if (++n === 3) clearInterval(t); }, 1); await scheduler.wait(60); return n; },
    "timer with arguments": () => new Promise((r) => setTimeout((...a) => r(a), 1, 1, "b")),
    "timer of a bad delay": async () => { const o = []; setTimeout(() => o.push("nan"), NaN); setTimeout(() => o.push("text"), "5"); setTimeout(() => o.push("negative"), -5); await scheduler.wait(40); return o.sort(); },
    "timer that throws": async ({ env }) => (await env.SELF.fetch("http://self/handle/timer")).text(),
    "listener that throws": async ({ env }) => (await env.SELF.fetch("http://self/handle/listener")).text(),
    "microtasks first": async () => { const o = []; setTimeout(() => o.push("t"), 0); queueMicrotask(() => o.push("m")); Promise.resolve().then(() => o.push("p")); await scheduler.wait(10); return o; },
    "wait aborted": () => scheduler.wait(1000, { signal: AbortSignal.abort(new RangeError("why")) }),
    "channel": () => typeof MessageChannel === "undefined" ? "none" : new Promise((r) => { const { port1, port2 } = new MessageChannel(); port2.onmessage = (e) => r([e.data, e.constructor.name]); port1.postMessage({ a: new Date(0) }); }),
    "exception": () => { const e = new DOMException("m", "DataCloneError"); return [Object.keys(e), e.code, e instanceof Error, String(e), Object.prototype.toString.call(e)]; },
    "exception of the platform": () => { try { structuredClone(() => {}); } catch (e) { return [Object.keys(e), e.code, e instanceof DOMException]; } },
  },
});
