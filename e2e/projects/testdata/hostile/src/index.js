// Each program is one that must not harm what runs beside it.
import { DurableObject } from "cloudflare:workers";

const again = (n, step, value) => {
  for (let i = 0; i < n; i++) value = step(value);
  return value;
};

const programs = {
  loop: () => { for (;;); },
  catches: () => { for (;;) try { for (;;); } catch { /* never */ } finally { continue; } },
  microtasks: () => { (function f() { Promise.resolve().then(f); })(); return new Promise(() => {}); },
  awaits: async () => { for (;;) await null; },
  timer: () => new Promise(() => { setTimeout(() => { for (;;); }); }),
  comparator: () => [3, 2, 1].sort(() => { for (;;); }),
  holes: () => new Array(2 ** 32 - 1).fill(0),
  listLike: () => [].reverse.call({ length: 2 ** 53 - 1 }),
  from: () => Array.from({ length: 1e9 }),
  repeat: () => "a".repeat(1e9),
  pad: () => "a".padEnd(2e9),
  doubling: () => { let s = "x"; for (;;) s += s; },
  replace: () => "a".repeat(1e5).replace(/a/g, "b".repeat(1e5)),
  pushes: () => { const a = []; for (;;) a.push({ x: 1, y: [1, 2, 3] }); },
  buffer: () => new ArrayBuffer(2 ** 40),
  buffers: () => { const a = []; for (;;) a.push(new ArrayBuffer(2 ** 28)); },
  bigShift: () => 1n << (2n ** 40n),
  bigGrows: () => { let x = 3n; for (;;) x *= x; },
  digits: () => BigInt("9".repeat(1e7)),
  pattern: () => /^(?!\.)(([a-z]+)*)+@$/.test("a".repeat(24)),
  reference: () => /^(a+)+\1$/.test("a".repeat(24) + "b"),
  groups: () => new RegExp("(?=a)" + "(".repeat(2e6) + ")".repeat(2e6)),
  parse: () => JSON.parse("[".repeat(5e6) + "]".repeat(5e6)),
  toJSON: () => { const o = { toJSON: () => ({ a: o }) }; return JSON.stringify(o); },
  nested: () => String(again(1e5, (o) => [o], [1])),
  twice: () => String(again(50, (o) => [o, o], [1])),
  flat: () => again(50, (o) => [o, o], [1]).flat(Infinity),
  flatSelf: () => { const o = [1]; o.push(o); return o.flat(Infinity); },
  recursion: () => { (function f() { return f() + 1; })(); },
  getters: () => { const o = { get x() { return this.x; } }; return o.x; },
  toStrings: () => { const o = { toString() { return "" + o; } }; return "" + o; },
  generators: () => { function* g() { yield* g(); } return [...g()]; },
  proxies: () => again(1e6, (p) => new Proxy(p, {}), {}).x,
  proxyCycle: () => { const o = {}; Object.setPrototypeOf(o, new Proxy(o, {})); return o.x; },
  prototypes: () => again(1e6, (p) => Object.create(p), {}).x,
  clone: () => structuredClone(again(1e5, (o) => ({ o }), {})),
  logs: () => console.log(again(1e5, (o) => ({ o }), {})),
  causes: () => { throw again(1e5, (cause) => new Error("x", { cause }), new Error("x")); },
  thrown: () => { throw new Proxy({}, { get() { for (;;); } }); },
  message: () => { throw Object.defineProperty(new Error(), "message", { get() { for (;;); } }); },
  nothing: () => { throw Object.create(null); },
  thenable: () => ({ then() { for (;;); } }),
  pollution: () => { Array.prototype.at = () => { for (;;); }; },
  stream: () => new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(1e6)); } })).arrayBuffer(),
  streamStart: () => new ReadableStream({ start(c) { for (;;) c.enqueue(new Uint8Array(1e6)); } }),
  random: () => crypto.getRandomValues(new Uint8Array(2 ** 28)),
  timers: () => { for (let i = 0; i < 1e6; i++) setTimeout(() => {}, 1e9); },
  keys: () => { const o = {}; for (let i = 0; ; i++) o["k" + i] = i; },
  console: () => { for (let i = 0; i < 1000; i++) console.log("x".repeat(1e6).length); for (;;); },
};

const run = async (name) => {
  try {
    return "value " + typeof (await programs[name]());
  } catch (e) {
    return "caught " + e?.name + ": " + String(e?.message).slice(0, 200);
  }
};

export class Victim extends DurableObject {
  run(name) { return run(name); }
  well() { return (this.calls = (this.calls ?? 0) + 1); }
  hang() { return new Promise(() => {}); }
  async set(key) { await this.ctx.storage.put(key, "v"); return "set"; }
}

export default {
  async fetch(request, env) {
    const [, what, name] = new URL(request.url).pathname.split("/");
    if (what === "list") return Response.json(Object.keys(programs));
    if (what === "well") return new Response("well");
    if (what === "worker") return new Response(await run(name));
    if (what === "hang") return new Promise(() => {});
    try {
      if (what === "object") return new Response(await env.VICTIM.getByName(name).run(name));
      if (what === "poison") return new Response(await env.VICTIM.getByName("poisoned").run("loop"));
      if (what === "stuck") return new Response(await env.VICTIM.getByName(name).hang());
      if (what === "strict") return new Response(await env.VICTIM.getByName("x").set("k".repeat(2049)));
      return new Response(await env.VICTIM.getByName(name).well());
    } catch (e) {
      return new Response(`error ${e.message} ${JSON.stringify([e.remote, e.retryable, e.durableObjectReset])}`);
    }
  },
};
