import { area } from "../probe.js";

const hour = 3600e3;
const until = async (stub, n) => {
  for (let i = 0; i < 200; i++) {
    const [log, next] = await stub.alarms();
    if (log?.length >= n) return [log, next];
    await scheduler.wait(20);
  }
  return "no alarm";
};

// AL-3j: types of times. AL-5j: what the handler is told.
area("alarms", {
  worker: {
    "fires": async ({ object }) => [await object().setAlarmIn(300), await until(object(), 1)],
    "fires again": async ({ object }) => [await object().setAlarmIn(300, "again"), await until(object(), 2)],
    "replaced in a handler that fails": async ({ object }) => [await object().setAlarmIn(300, "replace"), await until(object(), 2)],
    "kept when the handler fails": async ({ object }) => {
      await object().setAlarmIn(300, "fail");
      await until(object(), 1);
      await scheduler.wait(50);
      const [, next] = await object().alarms();
      return next === (await object().stored("at"));
    },
    "retried": async ({ object }) => {
      await object().setAlarmIn(300, "fail");
      return until(object(), 2);
    },
    "of a past time": async ({ object }) => {
      await object().setAlarmIn(-5000);
      return (await until(object(), 1))[0].length;
    },
    "of a class without a handler": async ({ object }) => object("", "SILENT").alarmWithout(),
    "of a legacy class without a handler": async ({ object }) => object("", "LEGACY").fetch("http://object/alarm"),
    "called": ({ object }) => object().alarm(),
  },
  object: {
    "none": (ctx) => ctx.storage.getAlarm(),
    "set and got": async (ctx) => {
      const at = Date.now() + hour;
      const out = await ctx.storage.setAlarm(at);
      return [out, (await ctx.storage.getAlarm()) - at];
    },
    "by date": async (ctx) => {
      const at = new Date(Date.now() + hour);
      await ctx.storage.setAlarm(at);
      return (await ctx.storage.getAlarm()) - at.getTime();
    },
    "overwritten": async (ctx) => {
      const at = Date.now() + hour;
      await ctx.storage.setAlarm(at);
      await ctx.storage.setAlarm(at + 5);
      return (await ctx.storage.getAlarm()) - at;
    },
    "deleted": async (ctx) => {
      await ctx.storage.setAlarm(Date.now() + hour);
      return [await ctx.storage.deleteAlarm(), await ctx.storage.getAlarm(), await ctx.storage.deleteAlarm()];
    },
    "of a fraction": async (ctx) => {
      const at = Date.now() + hour;
      await ctx.storage.setAlarm(at + 0.7);
      return (await ctx.storage.getAlarm()) - at;
    },
    "of zero": (ctx) => ctx.storage.setAlarm(0),
    "of a negative time": (ctx) => ctx.storage.setAlarm(-1),
    "of NaN": (ctx) => ctx.storage.setAlarm(NaN),
    "of infinity": (ctx) => ctx.storage.setAlarm(Infinity),
    "of an invalid date": (ctx) => ctx.storage.setAlarm(new Date(NaN)),
    "of text": (ctx) => ctx.storage.setAlarm("x"),
    "of a big number": (ctx) => ctx.storage.setAlarm(5n),
    "of null": (ctx) => ctx.storage.setAlarm(null),
    "without a time": (ctx) => ctx.storage.setAlarm(),
    "deleteAll": async (ctx) => {
      await ctx.storage.setAlarm(Date.now() + hour);
      await ctx.storage.deleteAll();
      return typeof (await ctx.storage.getAlarm());
    },
    "in a transaction": async (ctx) => {
      const at = Date.now() + hour;
      return ctx.storage.transaction(async (txn) => {
        await txn.setAlarm(at);
        return [(await txn.getAlarm()) - at, (await ctx.storage.getAlarm()) - at, await txn.deleteAlarm()];
      });
    },
  },
});
