import { area } from "../probe.js";
import stream, { Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished, addAbortSignal, compose } from "node:stream";
import * as promises from "node:stream/promises";
import * as consumers from "node:stream/consumers";
import * as web from "node:stream/web";
import { Buffer } from "node:buffer";

const attempt = (run) => { try { return run(); } catch (e) { return `${e.name}: ${e.message} ${e.code}`; } };
const caught = (p) => Promise.resolve(p).then((v) => ["ok", v], (e) => ["no", `${e.name}: ${e.message} ${e.code}`]);
const collect = async (s) => { const o = []; for await (const c of s) o.push(Buffer.isBuffer(c) ? c.toString() : c); return o; };
const sink = (o, options) => new Writable({ ...options, write(c, e, cb) { o.push(Buffer.isBuffer(c) ? c.toString() : c); cb(); } });

area("nodestream", {
  worker: {
    "module": () => Object.keys(stream).filter((k) => !k.startsWith("_")).sort(),
    "read": async () => { const r = new Readable({ read() {} }); r.push("a"); r.push("b"); r.push(null); return collect(r); },
    "object mode": async () => { const r = new Readable({ objectMode: true, read() {} }); r.push({ a: 1 }); r.push(5); r.push(null); return collect(r); },
    "from": async () => [await collect(Readable.from(["a", 1])), await collect(Readable.from("text")), await collect(Readable.from((async function* () { yield "x"; })())), attempt(() => Readable.from(5))],
    "events": () => new Promise((r) => { const o = []; const s = Readable.from(["a"]); s.on("data", (d) => o.push(d)); s.on("end", () => o.push("end")); s.on("close", () => { o.push("close"); r(o); }); }),
    "setEncoding": async () => { const r = new Readable({ read() {} }); r.setEncoding("hex"); r.push(Buffer.from("ab")); r.push(null); return collect(r); },
    "paused read": async () => { const r = new Readable({ read() {} }); r.push("abcdef"); r.push(null); await new Promise((x) => r.once("readable", x)); return [r.read(2).toString(), r.readableLength, r.read().toString(), r.read()]; },
    "unshift": async () => { const r = new Readable({ read() {} }); r.push("b"); r.unshift("a"); r.push(null); return (await collect(r)).join(""); },
    "destroy": () => new Promise((r) => { const o = []; const s = new Readable({ read() {} }); s.on("error", (e) => o.push(e.message)); s.on("close", () => r([o, s.destroyed, s.errored?.message])); s.destroy(new Error("gone")); }),
    "push after the end": () => new Promise((r) => { const s = new Readable({ read() {} }); s.on("error", (e) => r(e.code)); s.push(null); s.push("a"); }),
    "state": () => { const s = new Readable({ highWaterMark: 5, read() {} }); return [s.readable, s.readableFlowing, s.readableHighWaterMark, s.readableLength, s.push("abc"), s.push("def"), s.readableLength, s.readableObjectMode]; },
    "default sizes": () => [new Readable().readableHighWaterMark, new Writable().writableHighWaterMark, new Readable({ objectMode: true }).readableHighWaterMark, stream.getDefaultHighWaterMark?.(false)],
    "write": () => new Promise((r) => { const o = []; const w = sink(o); w.write("a"); w.write(Buffer.from("b")); w.end("c", () => o.push("ended")); w.on("finish", () => o.push("finish")); w.on("close", () => r(o)); }),
    "write's result": () => { const w = new Writable({ highWaterMark: 3, write() {} }); return [w.write("ab"), w.write("cd"), w.writableLength, w.writableNeedDrain, w.writableEnded]; },
    "drain": () => new Promise((r) => { const w = new Writable({ highWaterMark: 1, write(c, e, cb) { setTimeout(cb, 1); } }); const v = w.write("abc"); w.on("drain", () => r([v, w.writableLength])); }),
    "write after the end": () => new Promise((r) => { const w = sink([]); w.on("error", (e) => r([e.code, e.message])); w.end(); w.write("x"); }),
    "write of other kinds": () => { const w = sink([]); return [attempt(() => w.write(null)), attempt(() => w.write(5)), attempt(() => w.write({}))]; },
    "write that fails": () => new Promise((r) => { const w = new Writable({ write(c, e, cb) { cb(new RangeError("w")); } }); w.on("error", (e) => r([e.message, w.destroyed])); w.write("a"); }),
    "cork": () => new Promise((r) => { const o = []; const w = new Writable({ writev(cs, cb) { o.push(cs.length); cb(); } }); w.cork(); w.write("a"); w.write("b"); w.uncork(); w.end(() => r(o)); }),
    "decodeStrings": async () => { const o = []; const w = new Writable({ decodeStrings: false, write(c, e, cb) { o.push([typeof c, e]); cb(); } }); w.end("a"); await promises.finished(w); return o; },
    "final": async () => { const o = []; const w = new Writable({ write(c, e, cb) { o.push("w"); cb(); }, final(cb) { o.push("final"); cb(); }, destroy(e, cb) { o.push("destroy"); cb(e); } }); w.end("a"); await promises.finished(w); return o; },
    "construct": async () => { const o = []; const w = new Writable({ construct(cb) { o.push("construct"); setTimeout(cb, 1); }, write(c, e, cb) { o.push("write"); cb(); } }); w.end("a"); await promises.finished(w); return o; },
    "transform": async () => { const t = new Transform({ transform(c, e, cb) { cb(null, c.toString().toUpperCase()); }, flush(cb) { cb(null, "!"); } }); t.write("ab"); t.end("c"); return collect(t); },
    "transform that fails": async () => { const t = new Transform({ transform(c, e, cb) { cb(new RangeError("t")); } }); t.end("a"); return caught(collect(t)); },
    "pass through": async () => { const p = new PassThrough(); p.end("x"); return collect(p); },
    "duplex": async () => { const o = []; const d = new Duplex({ read() { this.push("r"); this.push(null); }, write(c, e, cb) { o.push(c.toString()); cb(); } }); d.end("w"); return [await collect(d), o]; },
    "duplex from": async () => collect(Duplex.from(["a", "b"])),
    "pipe": () => new Promise((r) => { const o = []; const w = sink(o); w.on("finish", () => r(o)); w.on("pipe", () => o.push("pipe")); w.on("unpipe", () => o.push("unpipe")); Readable.from(["a", "b"]).pipe(w); }),
    "pipeline": () => new Promise((r) => { const o = []; pipeline(Readable.from(["a", "b"]), new Transform({ transform(c, e, cb) { cb(null, c + "!"); } }), sink(o), (e) => r([e ?? null, o])); }),
    "pipeline of promises": async () => { const o = []; await promises.pipeline(Readable.from(["a"]), async function* (s) { for await (const c of s) yield c + "?"; }, sink(o)); return o; },
    "pipeline that fails": async () => caught(promises.pipeline(Readable.from(["a"]), new Transform({ transform(c, e, cb) { cb(new RangeError("p")); } }), sink([]))),
    "pipeline aborted": async () => caught(promises.pipeline(new Readable({ read() {} }), sink([]), { signal: AbortSignal.abort() })),
    "pipeline of little": () => attempt(() => pipeline(() => {})),
    "finished": () => new Promise((r) => { const s = Readable.from(["a"]); finished(s, (e) => r(e ?? "fine")); s.resume(); }),
    "finished early": () => new Promise((r) => { const s = new Readable({ read() {} }); finished(s, (e) => r([e.code, e.message])); s.destroy(); }),
    "abort signal": async () => { const c = new AbortController(); const s = addAbortSignal(c.signal, new Readable({ read() {} })); const p = caught(collect(s)); c.abort(); return p; },
    "iterator helpers": async () => [await Readable.from([1, 2, 3]).map((x) => x * 2).toArray(), await Readable.from([1, 2, 3]).filter((x) => x > 1).toArray(), await Readable.from([1, 2, 3]).reduce((a, b) => a + b), await Readable.from([1, 2]).take(1).toArray(), await Readable.from([1, 2]).some((x) => x > 1)],
    "to the web": async () => { const o = []; for await (const c of Readable.toWeb(Readable.from(["a", "b"]))) o.push(c); return o; },
    "from the web": async () => collect(Readable.fromWeb(new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode("web")); c.close(); } }))),
    "writable to the web": async () => { const o = []; const w = Writable.toWeb(sink(o)).getWriter(); await w.write("a"); await w.close(); return o; },
    "writable from the web": async () => { const o = []; const w = Writable.fromWeb(new WritableStream({ write(c) { o.push(typeof c === "string" ? c : Buffer.from(c).toString()); } })); w.end("x"); await promises.finished(w); return o; },
    "as a body": async () => new Response(Readable.toWeb(Readable.from([Buffer.from("bo"), Buffer.from("dy")]))).text(),
    "consumers": async () => [await consumers.text(Readable.from(["a", "b"])), await consumers.json(Readable.from(["[1]"])), (await consumers.buffer(Readable.from([Buffer.from("x")]))).toString(), (await consumers.arrayBuffer(new Response("y").body)).byteLength],
    "web module": () => [web.ReadableStream === ReadableStream, web.TransformStream === TransformStream, Object.keys(web).filter((k) => k !== "default").length > 10],
    "compose": async () => attempt(() => typeof compose),
    "duplexPair": async () => { if (!stream.duplexPair) return "none"; const [a, b] = stream.duplexPair(); a.write("to b"); b.write("to a"); a.end(); b.end(); return [await collect(a), await collect(b)]; },
    "predicates": () => { const r = new Readable({ read() {} }); return [stream.isReadable?.(r), stream.isErrored?.(r), stream.isDisturbed?.(r), Readable.isDisturbed?.(r), r instanceof stream, new PassThrough() instanceof Writable]; },
    "inherited the old way": async () => { function Old() { Readable.call(this); } Object.setPrototypeOf(Old.prototype, Readable.prototype); Old.prototype._read = function () { this.push("o"); this.push(null); }; return collect(new Old()); },
  },
});
