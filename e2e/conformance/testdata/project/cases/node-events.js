import { area } from "../probe.js";
import events, { EventEmitter, once, on } from "node:events";
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import * as async_hooks from "node:async_hooks";
import process from "node:process";
import * as timers from "node:timers";
import * as timersPromises from "node:timers/promises";
import dc from "node:diagnostics_channel";

const attempt = (run) => { try { return run(); } catch (e) { return `${e.name}: ${e.message} ${e.code}`; } };
const caught = (p) => Promise.resolve(p).then((v) => ["ok", v], (e) => ["no", `${e.name}: ${e.message} ${e.code}`]);

area("emitter", {
  worker: {
    "order": () => { const e = new EventEmitter(); const o = []; e.on("x", () => o.push(1)); e.prependListener("x", () => o.push(0)); e.once("x", () => o.push(2)); return [e.emit("x"), e.emit("x"), e.emit("y"), o]; },
    "arguments and this": () => { const e = new EventEmitter(); let v; e.on("x", function (...a) { v = [this === e, a]; }); e.emit("x", 1, 2); return v; },
    "error without a listener": () => { const e = new EventEmitter(); return [attempt(() => e.emit("error", new RangeError("r"))), attempt(() => e.emit("error", "text")), attempt(() => e.emit("error")), attempt(() => e.emit("error", { a: 1 }))]; },
    "listener that throws": () => { const e = new EventEmitter(); e.on("x", () => { throw new RangeError("l"); }); return attempt(() => e.emit("x")); },
    "counts and names": () => { const e = new EventEmitter(); const f = () => {}; e.on("a", f); e.on("a", f); e.on(Symbol("s"), f); return [e.listenerCount("a"), e.eventNames().map(String), e.listeners("a").length, e.rawListeners("a").length, e.getMaxListeners(), events.defaultMaxListeners]; },
    "off": () => { const e = new EventEmitter(); const f = () => {}; e.on("a", f).on("a", f); e.off("a", f); const n = e.listenerCount("a"); e.removeAllListeners("a"); return [n, e.listenerCount("a")]; },
    "newListener": () => { const e = new EventEmitter(); const o = []; e.on("newListener", (n) => o.push("new " + n)); e.on("removeListener", (n) => o.push("gone " + n)); const f = () => {}; e.on("a", f); e.off("a", f); return o; },
    "removed while emitted": () => { const e = new EventEmitter(); const o = []; const b = () => o.push("b"); e.on("x", () => { o.push("a"); e.off("x", b); }); e.on("x", b); e.emit("x"); e.emit("x"); return o; },
    "listener of another kind": () => [attempt(() => new EventEmitter().on("a", 5)), attempt(() => new EventEmitter().setMaxListeners(-1))],
    "once as a promise": async () => { const e = new EventEmitter(); const p = once(e, "x"); e.emit("x", 1, 2); const q = caught(once(e, "y")); e.emit("error", new RangeError("r")); return [await p, await q]; },
    "once with a signal": async () => caught(once(new EventEmitter(), "x", { signal: AbortSignal.abort() })),
    "once of a target": async () => { const t = new EventTarget(); const p = once(t, "x"); t.dispatchEvent(new Event("x")); return (await p)[0].type; },
    "on as an iterator": async () => { const e = new EventEmitter(); queueMicrotask(() => { e.emit("x", 1); e.emit("x", 2); }); const o = []; for await (const v of on(e, "x")) { o.push(v); if (o.length === 2) break; } return o; },
    "captureRejections": async () => { const e = new EventEmitter({ captureRejections: true }); const p = new Promise((r) => e.on("error", (x) => r(x.message))); e.on("x", async () => { throw new Error("late"); }); e.emit("x"); return p; },
    "classes": () => [events === EventEmitter, events.EventEmitter === EventEmitter, typeof events.EventEmitterAsyncResource, typeof events.getEventListeners, typeof events.setMaxListeners, typeof events.errorMonitor],
    "errorMonitor": () => { const e = new EventEmitter(); const o = []; e.on(events.errorMonitor, (x) => o.push(x.message)); return [attempt(() => e.emit("error", new Error("m"))), o]; },
    "extended": () => { class A extends EventEmitter { constructor() { super(); this.x = 1; } } const a = new A(); let n = 0; a.on("y", () => n++); a.emit("y"); return [n, a.x, a instanceof EventEmitter]; },
    "called as a function": () => { function Old() { EventEmitter.call(this); } Object.setPrototypeOf(Old.prototype, EventEmitter.prototype); const o = new Old(); let n = 0; o.on("a", () => n++); o.emit("a"); return n; },
  },
});

area("asyncs", {
  worker: {
    "module": () => Object.keys(async_hooks).filter((k) => k !== "default").sort(),
    "run": async () => { const s = new AsyncLocalStorage(); return [s.getStore(), s.run(1, () => s.getStore()), await s.run(2, async () => { await 0; return s.getStore(); }), s.getStore()]; },
    "timers": async () => { const s = new AsyncLocalStorage(); return s.run("t", () => new Promise((r) => setTimeout(() => r(s.getStore()), 1))); },
    "microtasks and ticks": async () => { const s = new AsyncLocalStorage(); return s.run("t", () => Promise.all([new Promise((r) => queueMicrotask(() => r(s.getStore()))), new Promise((r) => process.nextTick(() => r(s.getStore()))), Promise.resolve().then(() => s.getStore())])); },
    "nested": () => { const s = new AsyncLocalStorage(); return s.run(1, () => [s.getStore(), s.run(2, () => s.getStore()), s.getStore(), s.exit(() => s.getStore())]); },
    "two stores": () => { const a = new AsyncLocalStorage(), b = new AsyncLocalStorage(); return a.run(1, () => b.run(2, () => [a.getStore(), b.getStore()])); },
    "throws": () => { const s = new AsyncLocalStorage(); return [attempt(() => s.run(1, () => { throw new RangeError("r"); })), s.getStore()]; },
    "arguments": () => new AsyncLocalStorage().run(1, (...a) => a, 2, 3),
    "enterWith": () => attempt(() => { const s = new AsyncLocalStorage(); s.enterWith(5); return s.getStore(); }),
    "disable": () => attempt(() => { const s = new AsyncLocalStorage(); s.disable(); return s.getStore(); }),
    "snapshot": () => { const s = new AsyncLocalStorage(); const snap = s.run(1, () => AsyncLocalStorage.snapshot()); return s.run(2, () => [s.getStore(), snap(() => s.getStore()), snap((a) => a, 9)]); },
    "bind": () => { const s = new AsyncLocalStorage(); const f = s.run(1, () => AsyncLocalStorage.bind((a) => [s.getStore(), a])); return s.run(2, () => f(7)); },
    "resource": () => { const s = new AsyncLocalStorage(); const r = s.run(1, () => new AsyncResource("x")); return s.run(2, () => [r.runInAsyncScope(() => s.getStore()), r.runInAsyncScope((a) => a, null, 4), attempt(() => new AsyncResource()), typeof r.asyncId]); },
    "event listeners": () => { const s = new AsyncLocalStorage(); const e = new EventEmitter(); s.run(1, () => e.on("x", () => s.getStore())); let v; e.on("x", () => { v = s.getStore(); }); s.run(2, () => e.emit("x")); return v; },
    "rejections": async () => { const s = new AsyncLocalStorage(); return s.run("c", () => Promise.reject(1).catch(() => s.getStore())); },
    "streams": async () => { const s = new AsyncLocalStorage(); let v; await s.run("r", () => new ReadableStream({ start(c) { v = s.getStore(); c.close(); } }).getReader().read()); return v; },
    "default value": () => attempt(() => [new AsyncLocalStorage({ defaultValue: 3 }).getStore(), new AsyncLocalStorage({ name: "n" }).name]),
  },
});

area("process", {
  worker: {
    "fields": () => [typeof process.env, process.platform, process.arch, typeof process.pid, process.version?.slice(0, 2), typeof process.versions?.node, process.title, process.argv?.length >= 0, process.cwd?.(), process.exitCode, typeof process.hrtime, typeof process.memoryUsage, typeof process.uptime],
    "env": () => [process.env.TEXT, process.env.DATA, typeof process.env.NOTHING, "TEXT" in process.env],
    "env changes": () => { process.env.NEW = 5; const v = process.env.NEW; delete process.env.NEW; return [v, process.env.NEW]; },
    "nextTick": async () => { const o = []; Promise.resolve().then(() => o.push("p")); process.nextTick((a) => o.push("t" + a), 1); queueMicrotask(() => o.push("m")); await scheduler.wait(1); return o; },
    "hrtime": () => [process.hrtime().length, typeof process.hrtime.bigint(), process.hrtime([0, 0]).length],
    "emitter": () => [typeof process.on, typeof process.emit, process.listenerCount?.("x"), typeof process.emitWarning],
    "exit": () => typeof process.exit,
    "streams": () => [typeof process.stdout?.write, typeof process.stderr?.write, typeof process.stdin],
    "global": () => [globalThis.process === process, typeof globalThis.Buffer, globalThis.global === globalThis, typeof globalThis.setImmediate, typeof globalThis.clearImmediate],
    "features": () => [typeof process.features, typeof process.config, typeof process.release, process.getBuiltinModule ? typeof process.getBuiltinModule("node:path") : "none"],
    "loaded modules": () => attempt(() => process.getBuiltinModule("node:nothing")),
  },
});

area("nodetimers", {
  worker: {
    "module": () => Object.keys(timers).filter((k) => k !== "default").sort(),
    "setTimeout": async () => { const t = timers.setTimeout(() => {}, 1); const k = typeof t; timers.clearTimeout(t); return [k, typeof t.ref, typeof t.unref, typeof t.hasRef, typeof t.refresh, typeof t[Symbol.toPrimitive]]; },
    "global's handle": () => { const t = setTimeout(() => {}, 1); clearTimeout(t); return [typeof t, t.constructor.name]; },
    "setImmediate": () => new Promise((r) => timers.setImmediate((a) => r(a), 5)),
    "clearImmediate": async () => { let n = 0; const i = setImmediate(() => n++); clearImmediate(i); await scheduler.wait(2); return n; },
    "promises": async () => [await timersPromises.setTimeout(1, "v"), await timersPromises.setImmediate("i")],
    "promises aborted": () => caught(timersPromises.setTimeout(1000, null, { signal: AbortSignal.abort() })),
    "promises' interval": async () => { const o = []; for await (const v of timersPromises.setInterval(1, "x")) { o.push(v); if (o.length === 2) break; } return o; },
    "wait": async () => typeof timersPromises.scheduler?.wait,
    "order": async () => { const o = []; setTimeout(() => o.push("timeout"), 0); process.nextTick(() => o.push("tick")); Promise.resolve().then(() => o.push("promise")); await scheduler.wait(5); return o; },
    "callback of another kind": () => attempt(() => timers.setTimeout("x", 1)),
  },
});

area("channels", {
  worker: {
    "module": () => Object.keys(dc).sort(),
    "publish": () => { const c = dc.channel("a"); const o = []; const f = (m, n) => o.push(m, n); c.subscribe(f); c.publish({ x: 1 }); const r = c.unsubscribe(f); c.publish(2); return [o, r, c.unsubscribe(f), dc.channel("a") === c, c.name]; },
    "hasSubscribers": () => { const c = dc.channel("b"); const f = () => {}; const o = [dc.hasSubscribers("b"), typeof c.hasSubscribers]; dc.subscribe("b", f); o.push(dc.hasSubscribers("b")); dc.unsubscribe("b", f); o.push(dc.hasSubscribers("b")); return o; },
    "tracing": () => attempt(() => { const t = dc.tracingChannel("t"); const o = []; t.subscribe({ start: () => o.push("start"), end: (m) => o.push("end " + m.result), error: () => o.push("error") }); const v = t.traceSync((a) => a + 1, { x: 1 }, null, 1); return [v, o]; }),
    "tracing a promise": async () => { const t = dc.tracingChannel("p"); const o = []; t.subscribe({ start: () => o.push("start"), end: () => o.push("end"), asyncStart: () => o.push("asyncStart"), asyncEnd: (m) => o.push("asyncEnd " + m.result) }); return [await t.tracePromise(async () => 5, {}), o]; },
    "with a store": () => attempt(() => { const c = dc.channel("s"); const s = new AsyncLocalStorage(); c.bindStore(s, (x) => x.v); return c.runStores({ v: 3 }, () => s.getStore()); }),
    "subscriber of another kind": () => attempt(() => dc.subscribe("x", 5)),
  },
});
