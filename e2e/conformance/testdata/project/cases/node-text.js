import { area } from "../probe.js";
import assert from "node:assert";
import util from "node:util";
import path from "node:path";
import * as url from "node:url";
import querystring from "node:querystring";

const attempt = (run) => { try { return run(); } catch (e) { return `${e.name}: ${e.message} ${e.code}`; } };
const brief = (run) => { try { return run(); } catch (e) { return [e.name, e.code, e.operator, e.generatedMessage]; } };
const caught = (p) => Promise.resolve(p).then((v) => ["ok", v], (e) => ["no", `${e.name}: ${e.message} ${e.code}`]);

area("assert", {
  worker: {
    "module": () => Object.keys(assert).sort(),
    "ok": () => [attempt(() => assert(true)), attempt(() => assert(0, "msg")), attempt(() => assert.ok(null, new RangeError("own"))), brief(() => assert.ok(0))],
    "equal": () => [attempt(() => assert.equal(1, "1")), brief(() => assert.equal(1, 2)), attempt(() => assert.strictEqual(1, 2)), attempt(() => assert.strictEqual("a", "b", "msg")), attempt(() => assert.notStrictEqual(1, 1)), brief(() => assert.strictEqual(NaN, NaN))],
    "deepEqual": () => [attempt(() => assert.deepEqual({ a: 1 }, { a: "1" })), brief(() => assert.deepStrictEqual({ a: 1 }, { a: "1" })), attempt(() => assert.deepStrictEqual([1, [2]], [1, [2]])), brief(() => assert.deepStrictEqual(new Map([[1, 2]]), new Map([[1, 3]]))), attempt(() => assert.deepStrictEqual(new Set([1, { a: 1 }]), new Set([1, { a: 1 }]))), brief(() => assert.deepStrictEqual(-0, 0)), attempt(() => assert.deepStrictEqual(new Date(0), new Date(0))), brief(() => assert.deepStrictEqual(/a/g, /a/i)), brief(() => assert.deepStrictEqual([1, , 3], [1, undefined, 3]))],
    "notDeepEqual": () => [brief(() => assert.notDeepStrictEqual({ a: 1 }, { a: 1 })), attempt(() => assert.notDeepEqual([1], [2]))],
    "throws": () => [attempt(() => assert.throws(() => { throw new RangeError("r"); }, RangeError)), attempt(() => assert.throws(() => { throw new RangeError("r"); }, /r/)), attempt(() => assert.throws(() => { throw new RangeError("r"); }, { name: "RangeError", message: "r" })), brief(() => assert.throws(() => {})), brief(() => assert.throws(() => { throw new RangeError("r"); }, { message: "x" })), attempt(() => assert.doesNotThrow(() => 1)), brief(() => assert.doesNotThrow(() => { throw new Error("x"); }))],
    "rejects": async () => [await caught(assert.rejects(Promise.reject(new RangeError("r")), RangeError)), (await caught(assert.rejects(Promise.resolve(1))))[0], await caught(assert.doesNotReject(Promise.resolve(1)))],
    "match": () => [attempt(() => assert.match("abc", /b/)), brief(() => assert.match("abc", /x/)), brief(() => assert.doesNotMatch("abc", /b/))],
    "fail": () => [attempt(() => assert.fail()), attempt(() => assert.fail("m")), attempt(() => assert.fail(new RangeError("own"))), attempt(() => assert.ifError(null)), attempt(() => assert.ifError(new Error("e")))],
    "strict": () => [brief(() => assert.strict.equal(1, "1")), assert.strict.strict === assert.strict],
    "error's fields": () => { try { assert.strictEqual(1, 2); } catch (e) { return [e.name, e.code, e.actual, e.expected, e.operator, e.generatedMessage, e instanceof assert.AssertionError, e instanceof Error]; } },
    "made by hand": () => { const e = new assert.AssertionError({ actual: 1, expected: 2, operator: "strictEqual", message: "m" }); return [e.message, e.code, e.name]; },
  },
});

area("util", {
  worker: {
    "module": () => Object.keys(util).filter((k) => !k.startsWith("_")).sort(),
    "format": () => [util.format("%s %d %i %f %j %o %O %%", "a", "1.5", 2.7, "3.1", { a: 1 }, [1], { b: 2 }), util.format("a", "b", 5), util.format("%s", null, undefined), util.format("%d", 5n), util.format({ a: 1 }), util.format("%x", 1), util.format("%s", { toString: () => "t" }), util.format("%c", "css"), util.format("%s", Symbol("s"))],
    "inspect": () => [{ a: 1, b: "x", c: [1, 2], d: new Map([[1, { a: 1 }]]), e: new Set([1]) }, [undefined, null, , 3], "it's", new Date(0), /a/g, Symbol("s"), () => {}, class A {}, class B extends Array {}, new (class C { x = 1; })(), 5n, -0, Object.create(null), new Error("m").message, [1.5, NaN]].map((v) => util.inspect(v)),
    "inspect's options": () => { const o = { a: { b: { c: { d: 1 } } } }; return [util.inspect(o), util.inspect(o, { depth: 0 }), util.inspect(o, { depth: null }), util.inspect({ a: 1, b: 2 }, { compact: false }), util.inspect(["a".repeat(30), "b".repeat(30), "c".repeat(30)]), util.inspect(Array.from({ length: 150 }, (_, i) => i)).slice(-40), util.inspect("a".repeat(20), { maxStringLength: 5 }), util.inspect({ b: 1, a: 2 }, { sorted: true }), util.inspect({ get a() { return 1; } }, { getters: true })]; },
    "inspect of cycles": () => { const a = { x: 1 }; a.self = a; return util.inspect(a); },
    "inspect of classes": () => [util.inspect(new Proxy({ a: 1 }, {})), util.inspect({ [util.inspect.custom]: () => "custom" }), util.inspect(Object.assign(() => {}, { a: 1 })), util.inspect(new Uint8Array([1, 2])), util.inspect(new ArrayBuffer(2)), util.inspect(Promise.resolve(1)), util.inspect(new WeakMap()), util.inspect([["a", 1]].values?.()), util.inspect(new Map([[1, 2]]).entries())],
    "promisify": async () => { const f = util.promisify((a, cb) => cb(null, a + 1)); const g = util.promisify((cb) => cb(new RangeError("r"))); return [await f(1), await caught(g()), attempt(() => util.promisify(5)), typeof util.promisify.custom]; },
    "callbackify": () => new Promise((r) => util.callbackify(async (a) => a + 1)(1, (e, v) => r([e, v]))),
    "inherits": () => { function A() {} function B() {} util.inherits(A, B); return [new A() instanceof B, A.super_ === B]; },
    "deprecate": () => util.deprecate((a) => a, "old", "DEP1")(5),
    "isDeepStrictEqual": () => [util.isDeepStrictEqual({ a: [1] }, { a: [1] }), util.isDeepStrictEqual([1], ["1"])],
    "types": () => [util.types.isDate(new Date()), util.types.isRegExp(/a/), util.types.isPromise(Promise.resolve()), util.types.isMap(new Map()), util.types.isUint8Array(new Uint8Array()), util.types.isProxy(new Proxy({}, {})), util.types.isAsyncFunction(async () => {}), util.types.isGeneratorFunction(function* () {}), util.types.isNativeError(new TypeError()), util.types.isBoxedPrimitive(Object(1)), util.types.isAnyArrayBuffer(new ArrayBuffer(1)), util.types.isArgumentsObject((function () { return arguments; })())],
    "old checks": () => [util.isArray?.([]), util.isString?.("a"), util.isNullOrUndefined?.(null), util.isError?.(new Error())],
    "text classes": () => [util.TextEncoder === TextEncoder, util.TextDecoder === TextDecoder, new util.TextEncoder().encode("a").length],
    "stripVTControlCharacters": () => [util.stripVTControlCharacters("\u001b[31mred\u001b[0m"), util.toUSVString("\ud83d")],
    "debuglog": () => [typeof util.debuglog("x"), util.debuglog("x").enabled],
    "parseArgs": () => attempt(() => util.parseArgs({ args: ["-f", "--bar", "b", "pos"], options: { f: { type: "boolean", short: "f" }, bar: { type: "string" } }, allowPositionals: true })),
    "MIMEType": () => attempt(() => { const m = new util.MIMEType("text/html; charset=utf-8"); return [m.essence, m.type, m.params.get("charset"), String(m)]; }),
    "errors": () => [attempt(() => util.getSystemErrorName(-2)), attempt(() => util.inherits(5)), typeof util.aborted],
  },
});

area("paths", {
  worker: {
    "join": () => [path.join("/a", "..", "b", "./c/"), path.join(""), path.join("a", "", "b"), attempt(() => path.join(5))],
    "resolve": () => [path.resolve("/a", "../b"), path.resolve("/a", "/b", "c"), path.isAbsolute(path.resolve("x"))],
    "parts": () => [path.parse("/a/b.tar.gz"), path.basename("/a/b.txt", ".txt"), path.dirname("/a/b/"), path.extname(".bashrc"), path.extname("a.b."), path.format({ dir: "/x", name: "n", ext: ".e" })],
    "relative": () => [path.relative("/a/b/c", "/a/d"), path.relative("/a", "/a"), path.normalize("/a//b/../c/."), path.isAbsolute("a")],
    "windows": () => [path.win32.join("a", "b"), path.win32.parse("C:\\x\\y.z"), path.win32.isAbsolute("C:/"), path.sep, path.delimiter, path.posix === path],
    "glob": () => [typeof path.matchesGlob, typeof path.toNamespacedPath],
  },
});

area("nodeurl", {
  worker: {
    "module": () => Object.keys(url).filter((k) => k !== "default").sort(),
    "parse": () => { const u = attempt(() => url.parse("http://u:p@h.com:8/p/a?q=1#f")); return typeof u === "string" ? u : [u.protocol, u.auth, u.host, u.port, u.pathname, u.search, u.query, u.hash, u.path, u.href]; },
    "parse of a query": () => { const u = attempt(() => url.parse("/a?b=1&b=2", true)); return typeof u === "string" ? u : [u.pathname, { ...u.query }, u.host]; },
    "format": () => [url.format(new URL("http://a.com/b?c#d"), { fragment: false, search: false }), attempt(() => url.format({ protocol: "http", host: "a.com", pathname: "/x", query: { a: 1 } })), attempt(() => url.format("http://a"))],
    "resolve": () => [attempt(() => url.resolve("http://a.com/b/c", "../d")), attempt(() => url.resolve("/one/two", "three"))],
    "files": () => [url.fileURLToPath("file:///a/b%20c"), url.pathToFileURL("/a b#c").href, attempt(() => url.fileURLToPath("http://a"))],
    "domains": () => [url.domainToASCII("\u00e9.com"), url.domainToUnicode("xn--9ca.com"), url.domainToASCII("xn--\u00e9")],
    "options": () => [url.urlToHttpOptions(new URL("http://u:p@a.com:8/x?y")).path, url.URL === URL, url.URLSearchParams === URLSearchParams],
    "query strings": () => [querystring.parse("a=1&a=2&b=%20x&c"), querystring.stringify({ a: [1, 2], b: "x y", c: null, d: true, e: NaN }), querystring.parse("a:1;b:2", ";", ":"), querystring.escape("\u00e9 &"), querystring.unescape("%C3%A9%zz"), querystring.parse("a=1&b=2", null, null, { maxKeys: 1 }), querystring.stringify("x")].map((v) => (typeof v === "object" ? { ...v } : v)),
    "os": async () => { const os = await import(["node", "os"].join(":")); return [os.EOL, typeof os.platform(), typeof os.cpus, os.type?.(), os.endianness?.()]; },
    "modules": async () => { const o = []; for (const m of ["child_process", "cluster", "console", "constants", "dgram", "dns", "domain", "fs", "fs/promises", "http", "https", "http2", "inspector", "module", "net", "os", "path/posix", "perf_hooks", "punycode", "readline", "repl", "sqlite", "sys", "test", "tls", "trace_events", "tty", "util/types", "v8", "vm", "wasi", "worker_threads", "nothing"]) o.push(m + " " + (await import("node:" + m).then(() => "there", (e) => e.message))); return o; },
  },
});
