// The classes of objects that probes use.
import { DurableObject } from "cloudflare:workers";
import { runWithin } from "./probe.js";

class Failure extends Error {
  name = "Failure";
  code = 7;
}

const failures = {
  type: () => new TypeError("t"),
  class: () => new Failure("m"),
  text: () => "a string",
  number: () => 5,
  nothing: () => undefined,
  object: () => ({ a: 1 }),
  dom: () => new DOMException("d", "AbortError"),
  retryable: () => Object.assign(new Error("r"), { retryable: true }),
  overloaded: () => Object.assign(new Error("o"), { overloaded: true }),
  cause: () => new Error("c", { cause: new RangeError("inner") }),
  own: () => Object.assign(new Error("p"), { detail: { a: [1] } }),
  aggregate: () => new AggregateError([new Error("one")], "several"),
};

// Probe runs probes of an object within it, and answers calls.
export class Probe extends DurableObject {
  field = 1;
  count = 0;
  arrow = () => 1;
  #secret = 2;
  static fixed = 3;

  run(area, name) {
    return runWithin(area, name, this);
  }

  // Calls
  echo(...args) {
    return args.length === 1 ? args[0] : args;
  }
  argumentCount() {
    return arguments.length;
  }
  get prop() {
    return "got";
  }
  get failing() {
    throw new Error("getter");
  }
  get later() {
    return Promise.resolve("later");
  }
  get nested() {
    return { deep: { fn: (n) => n + 1, value: 5 } };
  }
  _under() {
    return "under";
  }
  secret() {
    return this.#secret;
  }
  thenable() {
    return { then: (resolve) => resolve("resolved") };
  }
  nothing() {}
  kind(v) {
    return [Object.prototype.toString.call(v), v?.constructor?.name];
  }
  make(what) {
    switch (what) {
      case "symbol":
        return Symbol("a");
      case "promise within":
        return { p: Promise.resolve(1) };
      case "class":
        return new (class A {
          x = 1;
        })();
      case "bigint":
        return 2n ** 70n;
      case "function":
        return (n) => n + 1;
      case "headers":
        return new Headers({ a: "b" });
      case "response":
        return new Response("body", { status: 201, headers: { a: "b" } });
      case "stream":
        return new Response("streamed").body;
      case "bare object":
        return Object.assign(Object.create(null), { a: 1 });
    }
  }
  throw(kind) {
    throw failures[kind]();
  }
  async reject(kind) {
    throw failures[kind]();
  }
  next() {
    return ++this.count;
  }
  async slowNext(ms) {
    const n = this.count;
    await scheduler.wait(ms);
    return (this.count = n + 1);
  }
  async storedNext() {
    const n = (await this.ctx.storage.get("n")) ?? 0;
    await this.ctx.storage.put("n", n + 1);
    return n + 1;
  }
  async storedSlowNext(ms) {
    const n = (await this.ctx.storage.get("n")) ?? 0;
    await scheduler.wait(ms);
    await this.ctx.storage.put("n", n + 1);
    return n + 1;
  }
  async keep(key, value) {
    await this.ctx.storage.put(key, value);
  }
  stored(key) {
    return this.ctx.storage.get(key);
  }
  putThenThrow(key) {
    this.ctx.storage.put(key, 1);
    throw new Error("after a put");
  }
  async putThenAbort(key, reason) {
    await this.ctx.storage.put(key, 1);
    this.ctx.abort(reason);
  }
  abort(...args) {
    this.ctx.abort(...args);
  }
  async slow(ms) {
    await scheduler.wait(ms);
    return "slow";
  }
  hang() {
    return new Promise(() => {});
  }
  block(fail) {
    return this.ctx.blockConcurrencyWhile(async () => {
      await scheduler.wait(20);
      this.blocked = (this.blocked ?? 0) + 1;
      if (fail) throw new RangeError("blocked");
      return ["value", this.blocked];
    });
  }
  self() {
    return this.env.PROBE.get(this.ctx.id).next();
  }
  called() {
    return [this.ctx.id.name?.split("/").at(-1), typeof this.ctx.id.toString()];
  }
  late() {
    this.ctx.waitUntil(scheduler.wait(20).then(() => this.ctx.storage.put("late", true)));
    return "now";
  }
  lateFailure() {
    this.ctx.waitUntil(Promise.reject(new Error("late")));
    return "now";
  }

  // Alarms
  async alarm(info) {
    const log = (await this.ctx.storage.get("log")) ?? [];
    const inside = await this.ctx.storage.getAlarm();
    log.push({ keys: Object.keys(info).sort(), retry: info.isRetry, count: info.retryCount, inside });
    log.at(-1).scheduled = info.scheduledTime === (await this.ctx.storage.get("at"));
    await this.ctx.storage.put("log", log);
    const behaviour = (await this.ctx.storage.get("behaviour")) ?? "";
    if (behaviour === "again" && log.length === 1) await this.ctx.storage.setAlarm(Date.now() + 5);
    if (behaviour === "fail" && log.length === 1) throw new Error("alarm failed");
    if (behaviour === "replace" && log.length === 1) {
      await this.ctx.storage.setAlarm(Date.now() + 5);
      throw new Error("alarm failed");
    }
  }
  async setAlarmIn(ms, behaviour) {
    const at = Date.now() + ms;
    await this.ctx.storage.put({ at, behaviour });
    await this.ctx.storage.setAlarm(at);
    return (await this.ctx.storage.getAlarm()) === at;
  }
  async alarms() {
    return [await this.ctx.storage.get("log"), await this.ctx.storage.getAlarm()];
  }

  // Requests
  async fetch(request) {
    const path = new URL(request.url).pathname;
    switch (path) {
      case "/echo":
        return new Response(request.body, {
          status: 299,
          statusText: "Very Fine",
          headers: [["x-method", request.method], ["set-cookie", "a=1"], ["set-cookie", "b=2"]],
        });
      case "/headers":
        return Response.json([...request.headers].filter(([k]) => k.startsWith("x-")));
      case "/url":
        return Response.json([request.url, request.method, request.redirect, request.cf ?? "none"]);
      case "/cf":
        return Response.json([request.cf ?? null, Object.isFrozen(request.cf), Object.isFrozen(request.cf?.a), Object.isFrozen(request.clone().cf)]);
      case "/throw":
        throw new TypeError("in fetch");
      case "/undefined":
        return undefined;
      case "/hidden":
        return Response.json(this.env.DATA);
      case "/text":
        return "text";
      case "/stream":
        return new Response(
          new ReadableStream({
            async start(c) {
              for (const part of ["a", "b", "c"]) {
                c.enqueue(new TextEncoder().encode(part));
                await scheduler.wait(1);
              }
              c.close();
            },
          }),
        );
      case "/204":
        return new Response(null, { status: 204 });
      case "/redirect":
        return Response.redirect("http://object/url", 302);
      case "/late":
        return new Response(new ReadableStream({ pull: (c) => c.error(new Error("stream failed")) }));
    }
    return new Response("not found", { status: 404 });
  }
}

// Legacy extends nothing and has no alarm.
export class Legacy {
  constructor(state, env) {
    this.state = state;
    this.env = env;
  }
  async fetch(request) {
    if (request.url.endsWith("/alarm")) await this.state.storage.setAlarm(Date.now() + 1000);
    if (request.url.endsWith("/state")) return Response.json([typeof this.state.storage, Object.keys(this.env).sort()]);
    return new Response("legacy");
  }
  method() {
    return 1;
  }
}

// Plain answers requests without a promise.
export class Plain extends DurableObject {
  fetch(request) {
    if (request.url.endsWith("/text")) return "text";
    if (request.url.endsWith("/undefined")) return undefined;
    if (request.url.endsWith("/throw")) throw new RangeError("plainly");
    return new Response("plain");
  }
}

// Silent has no fetch.
export class Silent extends DurableObject {
  hello() {
    return "hello";
  }
  alarmWithout() {
    return this.ctx.storage.setAlarm(Date.now() + 1000);
  }
}

let attempts = 0;

// Failing throws in its constructor, every other time.
export class Failing extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    if (attempts++ % 2 === 0) throw new RangeError("in the constructor");
  }
  hello() {
    return "hello";
  }
}

// Blocking reads its storage before its first event, and fails when it says so.
export class Blocking extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(async () => {
      await scheduler.wait(10);
      this.ready = (await ctx.storage.get("ready")) ?? "first";
      if (this.ready === "fail") {
        await ctx.storage.put("ready", "recovered");
        throw new Error("cannot start");
      }
    });
  }
  state() {
    return this.ready;
  }
  async set(value) {
    await this.ctx.storage.put("ready", value);
    this.ctx.abort("restart");
  }
}
