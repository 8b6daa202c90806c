import { area } from "../probe.js";

const values = {
  array: [1, , 3], big: 2n ** 64n, bytes: new Uint8Array([1, 2, 3]), buffer: new ArrayBuffer(3), date: new Date(1e12),
  empty: "", error: new RangeError("r"), floats: [0.1, -0, NaN, Infinity, 2 ** 53], map: new Map([["k", { v: 1 }]]), null: null,
  object: { a: { b: [undefined, null] } }, regexp: /a+(b)/giu, set: new Set([1, "a"]), text: "h\u20ac\u{1F600}", true: true,
};

// RPC-1: getters and methods, also with an underscore. RPC-2: fields, private and static ones, members of Object
// are hidden. RPC-3: getter called. RPC-4: reserved names. RPC-7: kinds of values. RPC-9: instances of classes.
// RPC-10: symbols and promises. RPC-17: 32 MiB and more.
area("rpc", {
  worker: {
    ...Object.fromEntries(Object.entries(values).map(([name, v]) => ["value " + name, ({ object }) => object().echo(v)])),
    "no value": ({ object }) => object().nothing(),
    "several arguments": ({ object }) => object().echo(1, undefined, "c"),
    "undefined argument": ({ object }) => object().argumentCount(undefined, undefined),
    "cycle": async ({ object }) => {
      const v = {};
      v.self = v;
      const back = await object().echo(v);
      return back.self === back;
    },
    "same object twice": async ({ object }) => {
      const v = {};
      const back = await object().echo([v, v]);
      return back[0] === back[1];
    },
    "getter": ({ object }) => object().prop,
    "getter of a promise": ({ object }) => object().later,
    "getter that throws": ({ object }) => object().failing,
    "getter called": ({ object }) => object().prop(),
    "method not called": async ({ object }) => typeof (await object().echo),
    "underscore": ({ object }) => object()._under(),
    "private by a method": ({ object }) => object().secret(),
    "field": ({ object }) => object().field,
    "field called": ({ object }) => object().arrow(),
    "static": ({ object }) => object().fixed,
    "missing": ({ object }) => object().nope(),
    "missing property": ({ object }) => object().nope,
    "of Object": ({ object }) => object().hasOwnProperty("a"),
    "toString": ({ object }) => typeof object().toString(),
    "constructor": ({ object }) => object().constructor("a"),
    "environment": ({ object }) => object().env,
    "context": ({ object }) => object().ctx,
    "dup": ({ object }) => object().dup("a"),
    "webSocketMessage": ({ object }) => object().webSocketMessage(),
    "thenable": ({ object }) => object().thenable(),
    "class argument": ({ object }) => object().echo(new (class A { x = 1; })()),
    "symbol argument": ({ object }) => object().echo(Symbol("a")),
    "url argument": ({ object }) => object().echo(new URL("http://a/")),
    "weak argument": ({ object }) => object().echo(new WeakSet()),
    "blob argument": async ({ object }) => (await object().kind(new Blob(["a"])))[0],
    "headers argument": ({ object }) => object().kind(new Headers()),
    "stub argument": ({ object }) => object().kind(object("other")),
    "signal argument": ({ object }) => object().echo(new AbortController().signal),
    "symbol result": ({ object }) => object().make("symbol"),
    "promise within a result": ({ object }) => object().make("promise within"),
    "class result": ({ object }) => object().make("class"),
    "bigint result": ({ object }) => object().make("bigint"),
    "headers result": ({ object }) => object().make("headers"),
    "bare object result": ({ object }) => object().make("bare object"),
    "response result": async ({ object }) => {
      const r = await object().make("response");
      return [r.status, r.headers.get("a"), await r.text()];
    },
    "stream result": async ({ object }) => new Response(await object().make("stream")).text(),
    "function result": async ({ object }) => (await object().make("function"))(1),
    "function argument": async ({ object }) => (await object().kind(() => 1)),
    "pipelined property": ({ object }) => object().nested.deep.value,
    "pipelined call": ({ object }) => object().nested.deep.fn(1),
    "result's keys": async ({ object }) => Object.keys(await object().echo({ a: 1 })),
    "32 MiB and more": ({ object }) => object().echo("x".repeat(33 << 20)),
    "a call is a promise": ({ object }) => {
      const p = object().nothing();
      return [p instanceof Promise, typeof p.then, p.constructor.name];
    },
  },
});

const kinds = ["type", "class", "text", "number", "nothing", "object", "dom", "retryable", "overloaded", "cause", "own", "aggregate"];

// EX-2: names and own properties of classes of errors, by date. EX-3j: own properties. EX-6: exceptions of the
// platform. RPC-19: hung call. CTX-10j: abort ends what runs.
area("errors", {
  worker: {
    ...Object.fromEntries(kinds.map((k) => ["thrown " + k, ({ object }) => object().throw(k)])),
    "rejected": ({ object }) => object().reject("type"),
    "is an error": async ({ object }) => object().throw("type").catch((e) => [e instanceof TypeError, e instanceof Error, typeof e.stack]),
    "stack": async ({ object }) => object().throw("type").catch((e) => e.stack.split("\n")[0]),
    "object lives on": async ({ object }) => {
      await object().next();
      await object().throw("type").catch(() => {});
      return object().next();
    },
    "put then throw": async ({ object }) => [await object().putThenThrow("k").catch((e) => e), await object().stored("k")],
    "abort": ({ object }) => object().abort(),
    "abort for a reason": ({ object }) => object().abort("why"),
    "abort with an error": ({ object }) => object().abort(new TypeError("why")),
    "abort of what is in flight": async ({ object }) => {
      const stub = object();
      await stub.next();
      const slow = stub.slow(2000).catch((e) => e);
      return [await stub.abort("gone").catch((e) => e), await slow];
    },
    "same stub after abort": async ({ object }) => {
      const stub = object();
      await stub.abort("gone").catch(() => {});
      return stub.next();
    },
    "new stub after abort": async ({ object }) => {
      await object().next();
      await object().abort("gone").catch(() => {});
      return object().next();
    },
    "put then abort": async ({ object }) => {
      await object().putThenAbort("k", "gone").catch(() => {});
      return object().stored("k");
    },
    "constructor": async ({ object }) => [
      await object("", "FAILING").hello().catch((e) => e),
      await object("", "FAILING").hello().catch((e) => e),
    ],
    "hung call": async ({ object }) => Promise.race([object().hang(), scheduler.wait(300).then(() => "still waiting")]),
    "hung service": ({ env }) => env.SELF.fetch("http://self/handle/hang"),
    "throwing service": ({ env }) => env.SELF.fetch("http://self/handle/throw"),
    "service that gives nothing": ({ env }) => env.SELF.fetch("http://self/handle/undefined"),
    "service that gives text": ({ env }) => env.SELF.fetch("http://self/handle/text"),
    "service with a rejection": async ({ env }) => (await env.SELF.fetch("http://self/handle/reject")).text(),
    "service with a late rejection": async ({ env }) => (await env.SELF.fetch("http://self/handle/late")).text(),
  },
});
