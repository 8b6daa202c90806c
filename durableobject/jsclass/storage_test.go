package jsclass_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// probe is a class whose method `probe` runs a body with s (storage), ctx and o (the instance), and returns what it
// returned, or the error as text.
func probe(bodies map[string]string) string {
	code := `
	import { DurableObject } from "cloudflare:workers";
	const text = (e) => e instanceof Error ? e.name + ": " + e.message : "thrown " + e;
	const caught = async (f) => { try { return await f(); } catch (e) { return text(e); } };
	export class Probe extends DurableObject {
`
	for name, body := range bodies {
		code += "async " + name + "(arg) { const ctx = this.ctx, s = ctx.storage, o = this, env = this.env; " + body + " }\n"
	}
	code += "async alarm(info) { (this.runs ??= []).push(info); await this.ctx.storage.put('ran', (await this.ctx.storage.get('ran') ?? 0) + 1); " +
		"if (await this.ctx.storage.get('fail')) throw new Error('alarm failed'); }\n}\n"
	return code + `
	export class SqlProbe extends Probe {}
	export class Legacy { constructor(state, env) { this.state = state; } async fetch(q) { return q.url.includes("status") ? new Response(null, { status: 299, statusText: "Very Odd", headers: { "x-a": "b" } }) : new Response(this.state.id.name); } }
	export class NoAlarm extends DurableObject { set() { return caught(() => this.ctx.storage.setAlarm(Date.now() + 1)); } }
	export default {};
`
}

func TestStorage(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, body, want string }{
		{"basic", `await s.put("a", 1); await s.put({ b: 2, c: undefined, 3: "x" });
			return [await s.get("a"), await s.get("none"), [...await s.get(["b", "a", "zz"])], [...(await s.list()).keys()]]`,
			`[1, undefined, [["a", 1], ["b", 2]], ["3", "a", "b"]]`},
		{"putErrors", `return [await caught(() => s.put()), await caught(() => s.put("k")), await caught(() => s.put({}, 1)), await caught(() => s.put("k", () => 1)),
			await caught(() => s.put("k", Symbol("a"))), await caught(() => s.put("k", new URL("http://a/"))), await caught(() => s.put("k", ctx.id))]`,
			`["TypeError: Failed to execute 'put' on 'DurableObjectStorage': parameter 1 is not of type 'string or object'.", ` +
				`"TypeError: put() called with undefined value.", ` +
				`"TypeError: put() may only be called with a single key-value pair and optional options as put(key, value, options) or with multiple key-value pairs and optional options as put(entries, options)", ` +
				`"DataCloneError: () => 1 could not be cloned.", "DataCloneError: Symbol(a) could not be cloned.", ` +
				`"DataCloneError: Could not serialize object of type \"URL\". This type does not support serialization.", ` +
				`"DataCloneError: Could not serialize object of type \"DurableObjectId\". This type does not support serialization."]`},
		{"delete", `await s.put({ a: 1, b: 2, c: 3 }); return [await s.delete("a"), await s.delete("a"), await s.delete(["b", "c", "d"])]`,
			`[true, false, 2]`},
		{"list", `await s.put({ a1: 1, a2: 2, b1: 3, b2: 4 });
			const keys = async (o) => [...(await s.list(o)).keys()].join();
			return [await keys({ prefix: "a" }), await keys({ start: "a2", end: "b2" }), await keys({ startAfter: "a2", limit: 1 }),
				await keys({ start: "a2", end: "b2", reverse: true, limit: 1 }), await caught(() => s.list({ start: "a", startAfter: "b" })), await caught(() => s.list({ limit: 0 }))]`,
			`["a1,a2", "a2,b1", "b1", "b1", "TypeError: list() cannot be called with both start and startAfter values.", "TypeError: List limit must be positive."]`},
		{"values", `class A { x = 1 }
			await s.put("v", { d: new Date(5), m: new Map([[1, new Set([2n])]]), a: new A(), u: new Uint8Array([1, 2]), n: null, z: -0 });
			const v = await s.get("v"); return [v.d.getTime(), v.m.get(1).has(2n), v.a.x, v.u.length, v.n, Object.is(v.z, -0)]`,
			`[5, true, 1, 2, null, true]`},
		{"transaction", `await s.put("a", 1);
			const r = await s.transaction(async (txn) => { await txn.put("a", 2); await new Promise((r) => setTimeout(r, 5)); return [await txn.get("a"), await s.get("a")]; });
			return [r, await s.get("a")]`, `[[2, 2], 2]`},
		{"thrown", `await s.put("a", 1);
			return [await caught(() => s.transaction(async (txn) => { await txn.put("a", 2); throw new RangeError("no"); })), await s.get("a")]`,
			`["RangeError: no", 1]`},
		{"rollback", `await s.put("a", 1); let kept;
			const r = await s.transaction(async (txn) => { kept = txn; await txn.put("a", 2); txn.rollback(); txn.rollback(); return [1, await caught(() => txn.get("a"))]; });
			return [r, await s.get("a"), await caught(() => kept.get("a"))]`,
			`[[1, "Error: Cannot get() on rolled back transaction"], 1, "Error: Cannot get() on rolled back transaction"]`},
		{"committed", `let kept; await s.transaction(async (txn) => { kept = txn; await txn.put("a", 2); });
			return [await caught(() => kept.get("a")), await caught(() => s.transaction(() => s.deleteAll()))]`,
			"[\"Error: Cannot call get() on transaction that has already committed: did you move `txn` outside of the closure?\", " +
				`"Error: Cannot call deleteAll() within a transaction"]`},
		{"nested", `return await s.transaction(async (txn) => { await txn.put("a", 1);
			await s.transaction(async (inner) => { await inner.put("a", 2); await inner.put("b", 2); inner.rollback(); });
			return [await txn.get("a"), await txn.get("b")]; })`, `[1, undefined]`},
		{"alarms", `const r = [await s.getAlarm()]; await s.setAlarm(Date.now() + 5000); r.push(await s.getAlarm() - Date.now());
			await s.setAlarm(new Date(Date.now() + 7000)); r.push(await s.getAlarm() - Date.now()); await s.deleteAlarm(); r.push(await s.getAlarm());
			r.push(await caught(() => s.setAlarm(0)), await caught(() => s.setAlarm(NaN)), await caught(() => s.setAlarm("x"))); return r`,
			`[null, 5000, 7000, null, "TypeError: setAlarm() cannot be called with an alarm time <= 0", ` +
				`"TypeError: The value cannot be converted because it is not a valid Date.", ` +
				`"TypeError: Failed to execute 'setAlarm' on 'DurableObjectStorage': parameter 1 is not of type 'date'."]`},
		{"deleteAll", `await s.put("a", 1); await s.setAlarm(Date.now() + 5000); await s.deleteAll();
			return [(await s.list()).size, await s.getAlarm()]`, `[0, null]`},
		{"sync", `s.put("a", 1, { allowUnconfirmed: true }); return await s.sync()`, `undefined`},
		{"state", `return [Object.keys(ctx).sort().join(), ctx.id.toString().length, ctx.id.name, ctx.id.equals(env.PROBE.idFromName("o")), String(ctx)]`,
			`["container,exports,facets,id,props,storage", 64, "o", true, "[object DurableObjectState]"]`},
		{"noKV", `/* SK-2 */ try { s.kv } catch (e) { return e.message.slice(0, 63) }`,
			`"The storage.kv (synchronous KV) API is only available for SQLit"`},
	}
	bodies := map[string]string{"clear": "await s.deleteAll()"}
	for _, c := range cases {
		bodies[c.name] = c.body
	}
	bubble(t, probe(bodies), []string{"Probe", "SqlProbe", "NoAlarm"}, func(w *world) {
		for _, c := range cases {
			w.want("Probe", "clear", "undefined")
			w.want("Probe", c.name, c.want)
		}
	})
}

func TestSyncKV(t *testing.T) {
	t.Parallel()
	bubble(t, probe(map[string]string{
		"kv": `s.kv.put("a", 1); s.kv.put("b", { x: 2 });
			return [s.kv.get("a"), s.kv.get("none"), [...s.kv.list()].length, s.kv.delete("a"), s.kv.delete("a"), await s.get("b")]`,
		"tx": `s.kv.put("a", 1); const r = s.transactionSync(() => { s.kv.put("a", 2); return 7; });
			try { s.transactionSync(() => { s.kv.put("a", 3); throw new Error("no"); }); } catch (e) { return [r, e.message, s.kv.get("a")]; }`,
		"sql": `try { s.sql.exec("select 1"); } catch (e) { return e.message; }`,
	}), []string{"SqlProbe", "NoAlarm"}, func(w *world) {
		w.want("SqlProbe", "kv", `[1, undefined, 2, true, false, {x: 2}]`)
		w.want("SqlProbe", "tx", `[7, "no", 2]`)
		w.want("SqlProbe", "sql", `"storage.sql is not supported yet: use storage.kv or the asynchronous storage API"`)
		w.want("NoAlarm", "set",
			`"TypeError: Your Durable Object class must have an alarm() handler in order to call setAlarm()"`)
	})
}

func TestAlarm(t *testing.T) {
	t.Parallel()
	bubble(t, probe(map[string]string{
		"set":  `await s.setAlarm(Date.now() + 5000); await s.put("fail", !!arg)`,
		"ran":  `return await s.get("ran") ?? 0`,
		"info": `const i = this.runs.at(-1); return [i.isRetry, i.retryCount, typeof i.scheduledTime, await s.getAlarm() === null]`,
	}), []string{"Probe"}, func(w *world) {
		w.want("Probe", "set", "undefined")
		w.want("Probe", "ran", "0")
		time.Sleep(5100 * time.Millisecond)
		synctest.Wait()
		w.want("Probe", "ran", "1")
		w.want("Probe", "info", `[false, 0, "number", true]`)
		w.want("Probe", "set", "undefined", true)
		time.Sleep(8 * time.Second) // one run, and one retry after 2 to 2.5 seconds
		synctest.Wait()
		w.want("Probe", "ran", "3")
		w.want("Probe", "info", `[true, 1, "number", false]`)
	})
}
