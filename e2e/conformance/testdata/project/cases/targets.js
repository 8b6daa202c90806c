import { RpcPromise, RpcProperty, RpcStub } from "cloudflare:workers";
import { area } from "../probe.js";
import { Target } from "../targets.js";

const kind = (v) => [
  typeof v, Object.prototype.toString.call(v), v.constructor.name, Object.getOwnPropertyNames(v).join(),
  v instanceof RpcStub, v instanceof RpcPromise, v instanceof RpcProperty, v instanceof Function,
];
const failure = (p) => Promise.resolve(p).then((v) => v, (e) => e);
const thrown = (f) => {
  try {
    return f();
  } catch (e) {
    return e;
  }
};
// logged waits until something was noted.
const logged = async (list, n) => {
  for (let k = 0; k < 100 && list.length < n; k++) await scheduler.wait(5);
  return list;
};

// probes of what takes and gives targets: s is an object or an entrypoint.
const probes = {
  "promise": (s) => kind(s.plain("number")),
  "property": (s) => kind(s.x.y),
  "property of a promise": (s) => kind(s.plain("number").x),
  "target": async (s) => kind(await s.target(1)),
  "function": async (s) => kind(await s.fn()),
  "nested": async (s) => {
    const v = await s.things();
    return [kind(v.t)[2], kind(v.f)[2], kind(v.n.d)[2], Object.keys(v)];
  },
  "what is thenable": async (s) => {
    const t = await s.target(1);
    return [typeof t.then, typeof s.then, typeof s.x.then, s.plain("number").then(() => {}) instanceof Promise];
  },
  "in a stub": async (s) => {
    const t = await s.target(1);
    return ["nope" in t, "value" in t];
  },
  "assigned to a stub": async (s) => {
    const t = await s.target(1);
    t.foo = 1;
    return [t.foo, delete t.foo, typeof t.foo];
  },
  "indices": (s) => [typeof s[0], typeof s.x[0], typeof s["01"]],
  "stub as JSON": async (s) => JSON.stringify({ t: await s.target(1) }),
  "disposers": async (s) => {
    const [t, o] = [await s.target(1), await s.echo({ a: {} })];
    return [t, s.plain("number"), s.x, o, o.a].map((v) => [typeof v[Symbol.dispose], typeof v[Symbol.asyncDispose]]);
  },
  "members": async (s) => {
    const t = await s.target(1);
    return [await t.value, await t.inc(), await t.inc(5), await t.value, await t._under(), await t.deep.a.b, await t.deep.a.f()];
  },
  "hidden members": async (s) => {
    const t = await s.target(1);
    return [await failure(t.own), await failure(t.own()), await failure(t.arrow()), await failure(t.fixed), await failure(t.nope), await failure(t.deep.x.y)];
  },
  "of Object's": async (s) => {
    const t = await s.target(1);
    return [typeof t.toString, t.hasOwnProperty("value"), t.constructor === RpcStub];
  },
  "no functions": async (s) => {
    const t = await s.target(1);
    return [await failure(t()), await failure(t.value()), await failure(s.things().a()), await failure(s.prop())];
  },
  "a function's properties": async (s) => {
    const f = await s.fn();
    return [await f(1, 2), await f.extra.v, await f.extra.q(), await f.length, await failure(f.apply(null))];
  },
  "itself": async (s) => {
    const t = await s.target(1), u = await t.self();
    await t.inc();
    return u.value;
  },
  "failing getter": async (s) => failure((await s.target(1)).failing),
  "instance": (s) => failure(s.instance()),
  "pipelined": async (s) => [await s.target(3).value, await s.target(3).inc(4), await s.target(3).sub(8).value],
  "pipelined through properties": async (s) => [await s.prop.value, await s.prop.inc(), await s.fn()(1, 2)],
  "pipelined through objects": async (s) => {
    const p = s.things().n, q = p.d;
    return [await s.things().a, await s.things().f(4), await q.value, await (await p).d.value];
  },
  "pipelined after it resolved": async (s) => {
    const p = s.things(), o = await p;
    return [await p.f(2), await p.a, await o.f(3)];
  },
  "pipelined to what is missing": async (s) => [
    await failure(s.things().foo), await failure(s.things().foo()), await failure(s.plain("number").foo),
    await failure(s.plain("null").foo.bar), await failure(s.plain("text").length), await failure(s.plain("date").getTime()),
    await failure(s.map().get("f")),
  ],
  "pipelined after a failure": (s) => failure(s.throws().a.b()),
  "pipelined data": (s) => s.plain("object").a.b,
  "pipelined in order": async (s) => {
    const q = s.slowTarget(12), a = q.inc(), t = await q, b = t.inc();
    return [await a, await b, await q.value];
  },
  "calls of a stub in order": async (s) => {
    const t = await s.target(0);
    return Promise.all(Array.from({ length: 20 }, () => t.inc()));
  },
  "calls of a promise in order": async (s) => {
    const t = s.slowTarget(0);
    return Promise.all(Array.from({ length: 20 }, () => t.inc()));
  },
  "deep": async (s) => {
    let p = s;
    for (let n = 0; n < 65; n++) p = p["a" + n];
    return [await failure(p), thrown(() => p.x)];
  },
  "function argument": async (s) => [await s.call((a, b) => a + b, 1, 2), await s.call(async () => 3)],
  "target argument": (s) => s.use(new Target(4)),
  "object argument": (s) => s.methods({ m: (n) => n + 1, v: 2 }),
  "nested arguments": (s) =>
    s.call(async (o) => [await o.a[0](1), await o.m.get("t").value], { a: [(n) => n + 1], m: new Map([["t", new Target(9)]]) }),
  "kinds of arguments": (s) => s.kinds(1, () => 1, new Target(1), { f() {} }, class {}),
  "same function twice": (s) => {
    const f = (v) => v;
    return s.both(f, f);
  },
  "stub argument": async (s) => {
    const t = await s.target(6);
    return [await s.use(t), await failure(t.value)];
  },
  "there and back": async (s) => {
    const f = () => 3, g = await s.echo(f), t = new Target(1), u = await s.echo({ a: t, b: t });
    return [f === g, await g(), u.a === u.b, await u.a.inc(), await t.value];
  },
  "callback that throws": (s) => s.error(() => {
    throw new RangeError("in a callback");
  }),
  "callback's target": (s) => s.kindOfResult(() => new Target(9)),
  "callback's promise": (s) => s.call(() => s.plain("number")),
  "callback with this": (s) => s.call(function () {
    return typeof this;
  }),
  "promise argument": (s) => failure(s.echo(s.plain("number"))),
  "property argument": (s) => failure(s.echo(s.x)),
  "service argument": async (s, { env }) => s.call(async (v) => [kind(v).slice(0, 3), await v.plain("number")], env.SVC),
  "stub of an object as argument": async (s, { object }) => s.call(async (v) => [kind(v).slice(0, 3), v.id, await v.echo(5)].slice(0, 1).concat([await v.echo(5)]), object("passed")),
  "disposed": async (s) => {
    const t = await s.target(21), v = t.value;
    t[Symbol.dispose]();
    return [await failure(v), await failure(t.value), await failure(t.inc())];
  },
  "result disposed": async (s) => {
    const o = await s.things();
    o[Symbol.dispose]();
    return [await failure(o.f(1)), await failure(o.t.value)];
  },
  "dup": async (s) => {
    const t = await s.target(34), d = t.dup();
    t[Symbol.dispose]();
    return [kind(d)[2], await d.value, await failure(t.value)];
  },
  "promise disposed": async (s) => {
    const p = s.target(31);
    p[Symbol.dispose]();
    return [typeof (await p), await failure(p.value)];
  },
  "promise disposed after it resolved": async (s) => {
    const p = s.target(32), t = await p;
    p[Symbol.dispose]();
    return [await failure(t.value), await failure(p.value)];
  },
  "returned stub": async (s) => {
    const t = await s.target(5), u = await s.call(() => t);
    return [await u.value, await failure(t.value)];
  },
  "headers": async (s) => {
    const h = await s.make("headers");
    h.append("q", "r");
    return [...h];
  },
  "response": async (s) => {
    const r = await s.make("response");
    r.headers.append("q", "r");
    return [r.status, r.statusText, [...r.headers], await r.text(), r.url, r.type, r.ok];
  },
  "responses": async (s) => {
    const [a, b, c] = [await s.make("no content"), await s.make("redirect"), await s.make("error")];
    return [a.status, a.body, b.status, b.headers.get("location"), c.status, c.type];
  },
  "request": async (s) => {
    const r = await s.make("request");
    return [r.url, r.method, r.redirect, [...r.headers], await r.text(), r.bodyUsed, r.cf];
  },
  "request argument": async (s) => {
    const q = new Request("http://a/", { method: "PUT", body: "abc" });
    return [await s.read(q), q.bodyUsed, await s.read(new Request("http://a/"))];
  },
  "response argument": async (s) => {
    const r = new Response("abc");
    return [await s.read(r), r.bodyUsed];
  },
  "used arguments": async (s) => {
    const r = new Response("abc"), b = new Response("abc").body;
    await r.text();
    b.getReader();
    return [await failure(s.read(r)), await failure(s.readStream(b))];
  },
  "streamed response": async (s) => (await s.make("slow")).text(),
  "large response": async (s) => (await (await s.make("large")).arrayBuffer()).byteLength,
  "streams": async (s) => [await new Response(await s.make("bytes")).text(), await new Response(await s.make("texts")).text()],
  "streams that fail": async (s) => [
    await failure(new Response(await s.make("failing")).text()), await failure(new Response(await s.make("objects")).text()),
  ],
  "stream argument": async (s) => [
    await s.readStream(new Response("abc").body),
    await s.readStream(new ReadableStream({
      pull(c) {
        c.enqueue(new TextEncoder().encode("js"));
        c.close();
      },
    })),
  ],
  "stream there and back": async (s) => new Response(await s.echo(new Response("abc").body)).text(),
  "stream canceled": async (s) => {
    const got = [];
    await s.cancelStream(new ReadableStream({ cancel: (r) => void got.push(r) }));
    return logged(got, 1);
  },
  "writable argument": async (s) => {
    const got = [];
    const w = new WritableStream({
      write: (c) => void got.push([c.constructor.name, [...new Uint8Array(c)]]),
      close: () => void got.push("close"),
    });
    return [await s.write(w, 1, "ab"), got, w.locked];
  },
  "identity stream argument": async (s) => {
    const { readable, writable } = new IdentityTransformStream(), text = new Response(readable).text();
    return [await s.write(writable, "w1", "w2"), await text];
  },
  "writes that fail": async (s) => [
    await failure(s.write(new WritableStream({
      write() {
        throw new RangeError("sink");
      },
    }), 1)),
    await failure(s.write(new WritableStream(), { a: 1 })),
  ],
  "writable aborted": async (s) => {
    const got = [];
    await s.abortStream(new WritableStream({ abort: (r) => void got.push(r) }));
    return logged(got, 1);
  },
  "blob": async (s) => {
    const b = await s.echo(new Blob(["ab"], { type: "a/b" }));
    return [b.constructor.name, b.size, b.type, await b.text()];
  },
  "exception": async (s) => {
    const e = await s.echo(new DOMException("m", "AbortError"));
    return [e.constructor.name, e.name, e.message, e.code];
  },
  "refused values": async (s) =>
    Promise.all(
      [
        new File(["a"], "n"), new URLSearchParams("a=b"), new FormData(), new TransformStream(), new AbortController(),
        new Event("x"), new WeakRef({}), Object.create({ m: () => 1 }),
      ].map((v) => failure(s.echo(v))),
    ),
};

const against = (get) => Object.fromEntries(Object.entries(probes).map(([name, probe]) => [name, (o) => probe(get(o), o)]));

// RPC-8: kinds of arguments and results. RPC-11: functions. RPC-12: pipelined properties and calls. RPC-13:
// targets. RPC-14: disposal. RPC-15: kept, kept by dup.
area("targets", {
  worker: {
    ...against(({ object }) => object("", "LENDER")),
    "failing target": async ({ object }) => {
      const t = await object("", "LENDER").target(1);
      return [await failure(t.fail()), await failure(t.failOwn())];
    },
    "kept": async ({ object }) => {
      const s = object("", "LENDER");
      await s.keep(() => 5);
      return failure(s.again());
    },
    "kept by dup": async ({ object }) => {
      const s = object("", "LENDER");
      await s.keepDup((n) => n + 5);
      return [await s.again(1), await s.again(2)];
    },
    "disposal": async ({ object }) => {
      const s = object("", "LENDER");
      await s.logged(0);
      const o = await s.things();
      o[Symbol.dispose]();
      return s.logged(2);
    },
    "a result's stub": async ({ object }) => {
      const other = await object("", "LENDER").other();
      return [kind(other).slice(0, 3), await other.echo(5)];
    },
    "a result's stub pipelined": ({ object }) => object("", "LENDER").other().echo(6),
  },
});

area("services", {
  worker: {
    ...against(({ env }) => env.SVC),
    "fetched": async ({ env }) => (await env.SVC.fetch("http://x/")).text(),
    "fetched through a callback": ({ env }) => env.SVC.call(async (v) => (await v.fetch("http://x/")).text(), env.SVC),
  },
});

// RPC-16: stubs that a script makes.
area("local", {
  worker: {
    "target": async () => {
      const s = new RpcStub(new Target(3));
      return [kind(s), await s.value, await s.inc(), await s.sub(8).value];
    },
    "function": () => new RpcStub((a) => a + 1)(1),
    "object": async () => {
      const s = new RpcStub({ a: 1, f: () => 2, n: { m: 3 } });
      return [await s.a, await s.f(), await s.n.m, await failure(s.b)];
    },
    "copies": async () => {
      const o = {}, s = new RpcStub((v) => {
        v.a = 1;
        return v === o;
      });
      return [await s(o), o];
    },
    "throws": () => failure(new RpcStub(() => {
      throw new RangeError("q");
    })()),
    "passed on": async ({ object }) => {
      const s = new RpcStub(new Target(7));
      return [await object("", "LENDER").use(s), await failure(s.value)];
    },
    "constructors": () => [() => new RpcPromise(), () => new RpcProperty(), () => new RpcStub(1), () => new RpcStub([]),
      () => new RpcStub(new Date()), () => new RpcStub(new (class A {})())].map(thrown),
  },
});
