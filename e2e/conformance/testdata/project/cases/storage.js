import { area } from "../probe.js";

// filled puts keys of one letter and one digit.
async function filled(ctx) {
  for (const k of ["a1", "a2", "b1", "b2", "c1"]) await ctx.storage.put(k, k.toUpperCase());
  return ctx.storage;
}
const keys = async (ctx, options) => [...(await (await filled(ctx)).list(options)).keys()];

// KV-1: methods and own keys. KV-3j: numbers as keys, undefined fields. KV-4: put with wrong arguments. KV-8j:
// list with a limit that is none. KV-13j: kinds of values, headers, class instance. KV-14j: function, symbol, url,
// stub. SK-1: kv.
area("storage", {
  object: {
    "get missing": (ctx) => ctx.storage.get("x"),
    "get without a key": (ctx) => ctx.storage.get(),
    "get of a number's key": async (ctx) => {
      await ctx.storage.put(5, "five");
      return [await ctx.storage.get("5"), await ctx.storage.get(5)];
    },
    "get of several is sorted and leaves out": async (ctx) => (await filled(ctx)).get(["c1", "x", "a1", "a1"]),
    "get of none": (ctx) => ctx.storage.get([]),
    "put returns": (ctx) => ctx.storage.put("a", 1),
    "put undefined": (ctx) => ctx.storage.put("a", undefined),
    "put without a value": (ctx) => ctx.storage.put("a"),
    "put without anything": (ctx) => ctx.storage.put(),
    "put null": async (ctx) => {
      await ctx.storage.put("a", null);
      return ctx.storage.get("a");
    },
    "put of several": async (ctx) => {
      await ctx.storage.put({ a: 1, b: undefined, 3: "c" });
      return ctx.storage.list();
    },
    "put of several with bad options": (ctx) => ctx.storage.put({ a: 1 }, 5),
    "put of several with options": (ctx) => ctx.storage.put({ a: 1 }, { allowUnconfirmed: true }),
    "put of an entry and an extra": (ctx) => ctx.storage.put({ a: 1 }, {}, {}),
    "empty key": async (ctx) => {
      await ctx.storage.put("", "e");
      return [await ctx.storage.get(""), await ctx.storage.list(), await ctx.storage.delete("")];
    },
    "delete tells": async (ctx) => {
      const s = await filled(ctx);
      return [await s.delete("a1"), await s.delete("a1"), await s.delete(["a2", "b1", "x"]), await s.delete([])];
    },
    "delete without a key": (ctx) => ctx.storage.delete(),
    "deleteAll": async (ctx) => {
      const s = await filled(ctx);
      return [await s.deleteAll(), await s.list()];
    },
    "list": (ctx) => keys(ctx),
    "list with undefined": (ctx) => keys(ctx, undefined),
    "list with null": (ctx) => keys(ctx, null),
    "list with a number": (ctx) => keys(ctx, 5),
    "list with a string": (ctx) => keys(ctx, "a"),
    "list start": (ctx) => keys(ctx, { start: "a2" }),
    "list startAfter": (ctx) => keys(ctx, { startAfter: "a2" }),
    "list end": (ctx) => keys(ctx, { end: "b1" }),
    "list prefix": (ctx) => keys(ctx, { prefix: "b" }),
    "list limit": (ctx) => keys(ctx, { limit: 2 }),
    "list reverse": (ctx) => keys(ctx, { reverse: true }),
    "list reverse in a range": (ctx) => keys(ctx, { start: "a2", end: "b2", reverse: true, limit: 1 }),
    "list reverse with prefix": (ctx) => keys(ctx, { prefix: "a", reverse: true, limit: 1 }),
    "list start before a prefix": (ctx) => keys(ctx, { start: "a", prefix: "b" }),
    "list start after a prefix": (ctx) => keys(ctx, { start: "c", prefix: "b" }),
    "list empty range": (ctx) => keys(ctx, { start: "b", end: "a" }),
    "list equal ends": (ctx) => keys(ctx, { start: "a1", end: "a1" }),
    "list start and startAfter": (ctx) => keys(ctx, { start: "a", startAfter: "a" }),
    "list limit zero": (ctx) => keys(ctx, { limit: 0 }),
    "list limit negative": (ctx) => keys(ctx, { limit: -1 }),
    "list limit of text": (ctx) => keys(ctx, { limit: "x" }),
    "list limit of a fraction": (ctx) => keys(ctx, { limit: 1.9 }),
    "list with an unknown option": (ctx) => keys(ctx, { foo: 1 }),
    "list with options that count for nothing": (ctx) => keys(ctx, { allowConcurrency: true, noCache: true }),
    "list by bytes": async (ctx) => {
      await ctx.storage.put({ "\u{1F600}": 1, "\uFFFD": 2, "\u00e9": 3, z: 4 });
      return [...(await ctx.storage.list()).keys()].map((k) => k.codePointAt(0).toString(16));
    },
    "list with an empty prefix": (ctx) => keys(ctx, { prefix: "" }),
    "list with an empty end": (ctx) => keys(ctx, { end: "" }),
    "sync": (ctx) => ctx.storage.sync(),
    "kinds of values": async (ctx) => {
      const cyclic = { a: 1 };
      cyclic.self = cyclic;
      await ctx.storage.put({
        array: [1, , 3], big: 12345678901234567890n, buffer: new Uint8Array([1, 2]).buffer, bytes: new Uint8Array([3]),
        cyclic, date: new Date(5), error: new TypeError("t"), floats: [0.1, -0, NaN, -Infinity],
        map: new Map([[{ k: 1 }, new Set([1])]]), nested: { u: undefined, n: null }, re: /a(b)/gi, text: "h\u20ac\ud800",
        view: new DataView(new ArrayBuffer(2)), boxed: Object(5),
      });
      const out = await ctx.storage.list();
      out.get("cyclic").self = out.get("cyclic").self === out.get("cyclic");
      return [out, 1 in out.get("array"), out.get("boxed") instanceof Number];
    },
    "values are copies": async (ctx) => {
      const v = { n: 1 };
      const p = ctx.storage.put("v", v);
      v.n = 2;
      await p;
      const first = await ctx.storage.get("v");
      first.n = 3;
      return [first, await ctx.storage.get("v")];
    },
    "class instance": async (ctx) => {
      await ctx.storage.put("a", new (class A { x = 1; #y = 2; get z() { return 3; } })());
      return ctx.storage.get("a");
    },
    "function": (ctx) => ctx.storage.put("a", () => 1),
    "symbol": (ctx) => ctx.storage.put("a", Symbol("s")),
    "promise": (ctx) => ctx.storage.put("a", Promise.resolve(1)),
    "url": (ctx) => ctx.storage.put("a", new URL("http://a/")),
    "weak map": (ctx) => ctx.storage.put("a", new WeakMap()),
    "headers": async (ctx) => {
      await ctx.storage.put("a", new Headers({ a: "b" }));
      return ctx.storage.get("a");
    },
    "response": (ctx) => ctx.storage.put("a", new Response("x")),
    "stub": (ctx, env) => ctx.storage.put("a", env.PROBE.get(ctx.id)),
    "id": (ctx) => ctx.storage.put("a", ctx.id),
    "environment": (ctx, env) => ctx.storage.put("a", env.PROBE),
    "own keys": (ctx) => Object.keys(ctx.storage).sort(),
    "methods": (ctx) => Object.getOwnPropertyNames(Object.getPrototypeOf(ctx.storage)).sort(),
    "tag": (ctx) => [String(ctx.storage), ctx.storage.constructor.name],
    "a method without its storage": (ctx) => (0, ctx.storage.get)("a"),
    "a method on another": (ctx) => ctx.storage.get.call({}, "a"),
    "key of 2048 bytes and more": async (ctx) => {
      await ctx.storage.put("k".repeat(2048), 1);
      await ctx.storage.put("k".repeat(2049), 1);
      return (await ctx.storage.list()).size;
    },
    "200 keys at once": async (ctx) => {
      const all = Array.from({ length: 200 }, (_, i) => "k" + i);
      await ctx.storage.put(Object.fromEntries(all.map((k) => [k, 1])));
      return [(await ctx.storage.get(all)).size, await ctx.storage.delete(all)];
    },
    "kv": (ctx) => {
      ctx.storage.kv.put("a", { n: 1 });
      return [ctx.storage.kv.get("a"), ctx.storage.kv.get("b"), [...ctx.storage.kv.list()], ctx.storage.kv.delete("a")];
    },
    "kv and async are one": async (ctx) => {
      ctx.storage.kv.put("a", 1);
      await ctx.storage.put("b", 2);
      return [await ctx.storage.get("a"), ctx.storage.kv.get("b")];
    },
    "kv put undefined": (ctx) => {
      ctx.storage.kv.put("a", 1);
      return [ctx.storage.kv.put("a", undefined), ctx.storage.kv.get("a"), [...ctx.storage.kv.list()]];
    },
    "kv list options": (ctx) => {
      for (const k of ["a", "b", "c"]) ctx.storage.kv.put(k, k);
      return [[...ctx.storage.kv.list({ start: "b" })], [...ctx.storage.kv.list({ reverse: true, limit: 1 })]];
    },
    "getCurrentBookmark": async (ctx) => typeof (await ctx.storage.getCurrentBookmark()),
  },
});
