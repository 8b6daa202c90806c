import { area } from "../probe.js";

// Calls through one stub arrive in their order; through several, in any.
const inOrder = (stub, method) => () => stub[method]();
const five = (call) => Promise.all([1, 2, 3, 4, 5].map(call));

// CTX-1: constructor by hand. CTX-3: context keys. CTX-4: context methods. CTX-15: container.
area("gates", {
  worker: {
    "storage only": ({ object }) => five(inOrder(object(), "storedNext")),
    "a timer between": async ({ object }) => (await five(() => object().storedSlowNext(20))).join(),
    "a timer only": async ({ object }) => (await five(() => object().slowNext(20))).join(),
    "blocking": async ({ object }) => {
      const stub = object();
      return Promise.all([stub.block(), stub.next(), stub.block()]);
    },
    "blocking fails": async ({ object }) => {
      await object().next();
      return [await object().block(true).catch((e) => e), await object().next()];
    },
    "blocking in the constructor": ({ object }) => object("", "BLOCKING").state(),
    "failing in the constructor": async ({ object }) => {
      await object("", "BLOCKING").set("fail").catch(() => {});
      return [await object("", "BLOCKING").state().catch((e) => e), await object("", "BLOCKING").state()];
    },
    "value kept over a restart": async ({ object }) => {
      await object("", "BLOCKING").state();
      await object().keep("a", { b: 1 });
      await object().abort("x").catch(() => {});
      return object().stored("a");
    },
    "waitUntil": async ({ object }) => {
      const now = await object().late();
      await scheduler.wait(200);
      return [now, await object().stored("late")];
    },
    "waitUntil of a rejection": async ({ object }) => [await object().lateFailure(), await object().next()],
  },
  object: {
    "context keys": (ctx) => Object.keys(ctx).sort(),
    "context methods": (ctx) => Object.getOwnPropertyNames(Object.getPrototypeOf(ctx)).sort(),
    "context tag": (ctx) => [String(ctx), ctx.constructor.name],
    "context props": (ctx) => ctx.props,
    "container": (ctx) => ctx.container,
    "blocking value": (ctx) => ctx.blockConcurrencyWhile(async () => "v"),
    "blocking synchronously": (ctx) => ctx.blockConcurrencyWhile(() => "v"),
    "blocking nothing": (ctx) => ctx.blockConcurrencyWhile(),
    "blocking a number": (ctx) => ctx.blockConcurrencyWhile(5),
    "blocking nested": (ctx) => ctx.blockConcurrencyWhile(() => ctx.blockConcurrencyWhile(async () => "inner")),
    "waitUntil of nothing": (ctx) => ctx.waitUntil(),
    "waitUntil of a value": (ctx) => ctx.waitUntil(5),
    "self is an object": (ctx, env, self) => [self.constructor.name, Object.keys(self).sort()],
    "environment is the same": (ctx, env, self) => self.env === env && self.ctx === ctx,
    "microtasks and timers": async () => {
      const order = [];
      setTimeout(() => order.push("timer"), 0);
      queueMicrotask(() => order.push("microtask"));
      await Promise.resolve();
      order.push("await");
      await scheduler.wait(10);
      return order;
    },
    "timer that throws": async () => {
      setTimeout(() => {
        throw new Error("in a timer");
      }, 0);
      await scheduler.wait(20);
      return "goes on";
    },
    "reads after writes": async (ctx) => {
      ctx.storage.put("a", 1);
      const p = ctx.storage.get("a");
      ctx.storage.put("a", 2);
      return [await p, await ctx.storage.get("a")];
    },
    "constructor by hand": (ctx, env, self) => new self.constructor(),
    "constructor by hand with a wrong context": (ctx, env, self) => new self.constructor({}, env),
  },
});
