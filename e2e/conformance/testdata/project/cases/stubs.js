import { area } from "../probe.js";

const from = async (promise) => {
  const r = await promise;
  return [r.status, r.statusText, [...r.headers].filter(([k]) => k !== "date"), await r.text()];
};

// ST-1: keys, tag, then, any property. ST-2: assigned. ST-3: fetch of a path. ST-4: fetch of nothing. ST-5: a body
// that may not be. ST-6j: the response's url, type and status text. ST-8: what is no response. ST-9: cf. CTX-2:
// legacy. RPC-5: legacy call.
area("stubs", {
  worker: {
    "keys": ({ object }) => Object.keys(object()).sort(),
    "tag": ({ object }) => [Object.prototype.toString.call(object()), object().constructor.name],
    "then": ({ object }) => typeof object().then,
    "any property": ({ object }) => [typeof object().nope, typeof object()[Symbol.iterator]],
    "has": ({ object }) => ["fetch" in object(), "nope" in object()],
    "assigned": ({ object }) => {
      const stub = object();
      stub.baz = () => "own";
      return stub.baz();
    },
    "fetch": ({ object }) => from(object().fetch("http://object/echo", { method: "POST", body: "body" })),
    "fetch of a request": ({ object }) => from(object().fetch(new Request("http://object/echo", { method: "PUT", body: "x" }))),
    "fetch of a URL": ({ object }) => from(object().fetch(new URL("http://object/echo"))),
    "fetch of a path": ({ object }) => object().fetch("/x"),
    "fetch of nothing": ({ object }) => object().fetch(),
    "fetch of a number": ({ object }) => object().fetch(5),
    "fetch with a body that may not be": ({ object }) => object().fetch("http://object/", { body: "x" }),
    "fetch with a bad method": ({ object }) => object().fetch("http://object/", { method: "a b" }),
    "fetch with headers": ({ object }) => from(object().fetch("http://object/headers", { headers: { "X-A": "1", "x-b": "2, 3" } })),
    "fetch url": ({ object }) => from(object().fetch("http://object/url?a=b%20c#d")),
    "fetch with cf": ({ object }) => from(object().fetch("http://object/url", { cf: { a: { b: 1 } } })),
    "fetch without cf": ({ object }) => from(object().fetch("http://object/cf")),
    "fetch with cf looked at": ({ object }) => from(object().fetch("http://object/cf", { cf: { a: { b: "h\u20ac" } } })),
    "fetch with a request's cf": ({ object }) => from(object().fetch(new Request("http://object/cf", { cf: { a: 1 } }))),
    "fetch with cf over a request's": ({ object }) => from(object().fetch(new Request("http://object/cf", { cf: { a: 1 } }), { cf: { b: 2 } })),
    "fetch with cf redirected": ({ object }) => from(object().fetch("http://object/redirect", { cf: { a: 1 } })),
    "fetch with cf that may not be": ({ object }) => object().fetch("http://object/cf", { cf: { a: 5n } }),
    "fetch with cf and headers": ({ object }) => from(object().fetch("http://object/headers", { cf: { a: 1 }, headers: { "X-A": "1" } })),
    "fetch of a service with cf": async ({ env }) => (await env.SELF.fetch("http://self/handle/cf", { cf: { a: { b: 1 } } })).text(),
    "fetch of a service without cf": async ({ env }) => (await env.SELF.fetch("http://self/handle/cf")).text(),
    "fetch HEAD": ({ object }) => from(object().fetch("http://object/echo", { method: "HEAD" })),
    "fetch stream": ({ object }) => from(object().fetch("http://object/stream")),
    "fetch of no content": ({ object }) => from(object().fetch("http://object/204")),
    "fetch redirected": async ({ object }) => {
      const r = await object().fetch("http://object/redirect");
      return [r.status, r.redirected, r.url];
    },
    "fetch not redirected": async ({ object }) => {
      const r = await object().fetch("http://object/redirect", { redirect: "manual" });
      return [r.status, r.headers.get("location")];
    },
    "fetch that throws": ({ object }) => object().fetch("http://object/throw"),
    "fetch that gives nothing": ({ object }) => object().fetch("http://object/undefined"),
    "fetch that gives text": ({ object }) => object().fetch("http://object/text"),
    "fetch whose stream fails": ({ object }) => from(object().fetch("http://object/late")),
    "fetch of a class without": ({ object }) => object("", "SILENT").fetch("http://object/"),
    "fetch of a response's headers": async ({ object }) => {
      const r = await object().fetch("http://object/echo");
      r.headers.set("a", "b");
    },
    "response's url and type": async ({ object }) => {
      const r = await object().fetch("http://object/echo");
      return [r.url, r.type, r.redirected, r.ok];
    },
    "cookies": async ({ object }) => (await object().fetch("http://object/echo")).headers.getSetCookie(),
    "aborted before": ({ object }) => object().fetch("http://object/echo", { signal: AbortSignal.abort() }),
    "aborted for a reason": ({ object }) => object().fetch("http://object/echo", { signal: AbortSignal.abort(new Error("why")) }),
    "streamed up": async ({ object }) => {
      const { readable, writable } = new TransformStream();
      const w = writable.getWriter();
      (async () => {
        for (const part of ["a", "b"]) await w.write(new TextEncoder().encode(part));
        await w.close();
      })();
      return from(object().fetch("http://object/echo", { method: "POST", body: readable }));
    },
    "a large body": async ({ object }) => {
      const r = await object().fetch("http://object/echo", { method: "POST", body: "x".repeat(1 << 20) });
      return (await r.text()).length;
    },
    "legacy": ({ object }) => from(object("", "LEGACY").fetch("http://object/")),
    "legacy state": ({ object }) => from(object("", "LEGACY").fetch("http://object/state")),
    "legacy call": ({ object }) => object("", "LEGACY").method(),
    "order": async ({ object }) => {
      const stub = object();
      return Promise.all([1, 2, 3, 4, 5].map(() => stub.next()));
    },
    "counted once each through several stubs": async ({ object }) =>
      (await Promise.all([1, 2, 3, 4, 5].map(() => object().next()))).sort(),
    "answer without a promise": ({ object }) => from(object("", "PLAIN").fetch("http://object/")),
    "text without a promise": ({ object }) => object("", "PLAIN").fetch("http://object/text"),
    "nothing without a promise": ({ object }) => object("", "PLAIN").fetch("http://object/undefined"),
    "thrown without a promise": ({ object }) => object("", "PLAIN").fetch("http://object/throw"),
    "order of fetches and calls": async ({ object }) => {
      const stub = object();
      return Promise.all([stub.next(), stub.fetch("http://object/url").then((r) => r.status), stub.next()]);
    },
    "itself": ({ object }) => object().self(),
    "the environment": ({ env }) => Object.keys(env).sort(),
    "variables": ({ env }) => [env.TEXT, env.DATA],
    "a service that is itself": async ({ env }) => from(env.SELF.fetch("http://self/handle/echo", { method: "POST", body: "b" })),
    "methods of a service": ({ env }) => [typeof env.SELF.fetch, typeof env.SELF.nope, env.SELF.constructor.name],
  },
});
