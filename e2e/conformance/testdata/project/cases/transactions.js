import { area } from "../probe.js";

const list = async (ctx) => Object.fromEntries(await ctx.storage.list());

// TX-9: sync.
area("transactions", {
  object: {
    "value and writes": async (ctx) => {
      const v = await ctx.storage.transaction(async (txn) => {
        await txn.put("a", 1);
        return [await txn.get("a"), await ctx.storage.get("a")];
      });
      return [v, await list(ctx)];
    },
    "of a synchronous closure": async (ctx) => [await ctx.storage.transaction((txn) => (txn.put("a", 1), "v")), await list(ctx)],
    "without a closure": (ctx) => ctx.storage.transaction(),
    "with a number": (ctx) => ctx.storage.transaction(5),
    "throwing": async (ctx) => {
      await ctx.storage.put("a", 0);
      let e;
      await ctx.storage.transaction(async (txn) => {
        await txn.put("a", 1);
        await txn.put("b", 1);
        throw new RangeError("no");
      }).catch((x) => (e = x));
      return [e, await list(ctx)];
    },
    "rollback": async (ctx) => {
      const v = await ctx.storage.transaction(async (txn) => {
        await txn.put("a", 1);
        txn.rollback();
        return "ret";
      });
      return [v, await list(ctx)];
    },
    "rollback twice": (ctx) => ctx.storage.transaction(async (txn) => [txn.rollback(), txn.rollback()]),
    "get after rollback": (ctx) => ctx.storage.transaction(async (txn) => (txn.rollback(), txn.get("a"))),
    "put after rollback": (ctx) => ctx.storage.transaction(async (txn) => (txn.rollback(), txn.put("a", 1))),
    "list after rollback": (ctx) => ctx.storage.transaction(async (txn) => (txn.rollback(), txn.list())),
    "delete after rollback": (ctx) => ctx.storage.transaction(async (txn) => (txn.rollback(), txn.delete("a"))),
    "setAlarm after rollback": (ctx) => ctx.storage.transaction(async (txn) => (txn.rollback(), txn.setAlarm(Date.now() + 9e6))),
    "get after commit": async (ctx) => {
      let kept;
      await ctx.storage.transaction(async (txn) => void (kept = txn));
      return kept.get("a");
    },
    "put after commit": async (ctx) => {
      let kept;
      await ctx.storage.transaction(async (txn) => void (kept = txn));
      return kept.put("a", 1);
    },
    "rollback after commit": async (ctx) => {
      let kept;
      await ctx.storage.transaction(async (txn) => void (kept = txn));
      return kept.rollback();
    },
    "deleteAll": (ctx) => ctx.storage.transaction(async (txn) => txn.deleteAll()),
    "deleteAll of the storage": (ctx) => ctx.storage.transaction(async () => ctx.storage.deleteAll()),
    "several keys": (ctx) =>
      ctx.storage.transaction(async (txn) => {
        await txn.put({ b: 2, a: 1, c: 3 });
        return [await txn.get(["c", "a"]), await txn.delete(["a", "x"]), await txn.list({ reverse: true })];
      }),
    "storage within is part of it": async (ctx) => {
      await ctx.storage.transaction(async (txn) => {
        await ctx.storage.put("a", 1);
        ctx.storage.kv.put("b", 2);
        txn.rollback();
      });
      return list(ctx);
    },
    "alarm is part of it": async (ctx) => {
      await ctx.storage.transaction(async (txn) => {
        await txn.setAlarm(Date.now() + 9e6);
        txn.rollback();
      });
      return ctx.storage.getAlarm();
    },
    "nested": async (ctx) => {
      await ctx.storage.transaction(async (outer) => {
        await outer.put("a", 1);
        await ctx.storage.transaction(async (inner) => {
          await inner.put("b", 1);
          inner.rollback();
        });
        await outer.put("c", 1);
      });
      return list(ctx);
    },
    "outer rolled back while an inner one is open": (ctx) =>
      ctx.storage.transaction(async (outer) => {
        await ctx.storage.transaction(async () => outer.rollback());
      }),
    "one after another": async (ctx) => {
      const order = [];
      await Promise.all([1, 2, 3].map((n) =>
        ctx.storage.transaction(async (txn) => {
          order.push("in " + n);
          await scheduler.wait(1);
          await txn.put("n", n);
          order.push("out " + n);
        })));
      return [order, await list(ctx)];
    },
    "counting side by side": async (ctx) => {
      await Promise.all([1, 2, 3, 4].map(() =>
        ctx.storage.transaction(async (txn) => txn.put("n", ((await txn.get("n")) ?? 0) + 1))));
      return list(ctx);
    },
    "sync": (ctx) => [ctx.storage.transactionSync(() => (ctx.storage.kv.put("a", 1), "v")), [...ctx.storage.kv.list()]],
    "sync throwing": (ctx) => {
      ctx.storage.kv.put("a", 0);
      try {
        ctx.storage.transactionSync(() => {
          ctx.storage.kv.put("a", 1);
          throw new Error("no");
        });
      } catch (e) {
        return [e, ctx.storage.kv.get("a")];
      }
    },
    "sync nested": (ctx) => {
      ctx.storage.transactionSync(() => {
        ctx.storage.kv.put("a", 1);
        try {
          ctx.storage.transactionSync(() => {
            ctx.storage.kv.put("b", 1);
            throw new Error("no");
          });
        } catch {}
      });
      return [...ctx.storage.kv.list()];
    },
    "sync without a closure": (ctx) => ctx.storage.transactionSync(),
    "sync of an asynchronous closure": (ctx) => ctx.storage.transactionSync(async () => 1) instanceof Promise,
    "object of a transaction": (ctx) => ctx.storage.transaction(async (txn) => [txn.constructor.name, Object.keys(txn)]),
  },
});
