package jsclass_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSections(t *testing.T) {
	t.Parallel()
	bubble(t, probe(map[string]string{
		"block": `const order = (this.order = []); const other = env.PROBE.getByName("o").note("other");
			const v = await ctx.blockConcurrencyWhile(async () => { order.push("begin"); await new Promise((r) => setTimeout(r, 50)); order.push("end"); return 5; });
			order.push("after"); await other; return [v, order.join()]`,
		"note":       `this.order.push(arg)`,
		"fails":      `await ctx.blockConcurrencyWhile(async () => { throw new RangeError("bad") }); return "never"`,
		"slow":       `await ctx.blockConcurrencyWhile(() => new Promise((r) => setTimeout(r, 60000)))`,
		"age":        `return this.years = (this.years ?? 0) + 1`,
		"abort":      `await s.put("lost", 1); ctx.abort("enough"); return "never"`,
		"kept":       `s.put("kept", 1); throw new Error("after a write")`,
		"read":       `return [await s.get("lost"), await s.get("kept")]`,
		"properties": `const e = new Error("busy"); e.retryable = true; e.overloaded = true; throw e`,
		"custom":     `class CE extends Error { get name() { return "CE" } } throw new CE("msg")`,
		"text":       `throw "a string"`,
		"clone":      `return new WeakSet()`,
		"instance":   `class A {} return new A()`,
	}), []string{"Probe"}, func(w *world) {
		w.want("Probe", "block", `[5, "begin,end,after,other"]`)
		w.want("Probe", "age", "1")
		w.wantError("Probe", "fails", "RangeError: bad [reset]")
		w.want("Probe", "age", "1")
		w.wantError("Probe", "abort", "Error: enough [reset]")
		w.want("Probe", "age", "1")
		w.wantError("Probe", "kept", "Error: after a write [remote]")
		w.want("Probe", "read", "[undefined, 1]")
		start := time.Now()
		w.wantError("Probe", "slow", "Error: A call to blockConcurrencyWhile() in a Durable Object waited for too long. "+
			"The call was canceled and the Durable Object was reset. [overloaded] [reset]")
		if took := time.Since(start); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("took %v", took)
		}
		w.wantError("Probe", "properties", "Error: busy [remote] [retryable] [overloaded]")
		w.wantError("Probe", "custom", "Error: CE: msg [remote]")
		w.wantError("Probe", "text", "Error: a string [remote]")
		w.wantError("Probe", "clone", "DataCloneError: #<WeakSet> could not be cloned. [remote]")
		w.wantError("Probe", "instance",
			`DataCloneError: Could not serialize object of type "A". This type does not support serialization. [remote]`)
	})
}

func TestStubs(t *testing.T) {
	t.Parallel()
	bubble(t, probe(map[string]string{
		"add":     `return arg + 1`,
		"self":    `const stub = env.PROBE.get(env.PROBE.idFromName("o")); return [await stub.add(1), stub.name, typeof stub.then, Object.keys(stub).join(), String(stub)]`,
		"other":   `return await env.PROBE.getByName("p").add(arg)`,
		"fails":   `throw new TypeError("t")`,
		"errors":  `try { await env.PROBE.getByName("p").fails() } catch (e) { return [e instanceof TypeError, e.message, e.remote, e.retryable] }`,
		"absent":  `return [await caught(() => env.PROBE.getByName("p").nothing()), await caught(() => env.LEGACY.getByName("p").x())]`,
		"exports": `return [Object.keys(ctx.exports).join(), await ctx.exports.Probe.getByName("p").add(1)]`,
		"object":  `return { a: 1 }`,
		"using":   `using stub = env.PROBE.getByName("p"); using r = await stub.object(); return r`,
		"order":   `const stub = env.PROBE.getByName("p"); const calls = []; for (let n = 0; n < 20; n++) calls.push(stub.append(n)); return (await Promise.all(calls)).at(-1)`,
		"append":  `(this.list ??= []).push(arg); return this.list.join()`,
		"status":  `const r = await env.LEGACY.getByName("p").fetch("http://x/status?a#b"); return [r.status, r.statusText, [...r.headers].join(), r.url, r.type]`,
		"fetches": `const r = await env.LEGACY.getByName("p").fetch("http://x/y"); return [r.status, await r.text(), await caught(() => env.LEGACY.getByName("p").fetch("/x")), await caught(() => env.LEGACY.getByName("p").fetch())]`,
		"ids": `const e = (f) => { try { return f() } catch (e) { return text(e) } }; const n = env.PROBE;
			return [e(() => n.idFromName()), e(() => n.idFromString("x")), e(() => n.idFromString("0".repeat(64))), e(() => n.get("x")), n.newUniqueId().name,
				n.idFromString(n.idFromName("a").toString().toUpperCase()).equals(n.idFromName("a")), e(() => n.jurisdiction("eu"))]`,
	}), []string{"Probe", "Legacy"}, func(w *world) {
		w.want("Probe", "self", `[2, "o", "undefined", "name,id", "[object DurableObject]"]`)
		w.want("Probe", "other", "8", 7)
		w.want("Probe", "errors", `[true, "t", true, undefined]`)
		w.want("Probe", "absent", `["TypeError: The RPC receiver does not implement the method \"nothing\".", `+
			"\"TypeError: The receiving Durable Object does not support RPC, because its class was not declared with `extends DurableObject`. "+
			`In order to enable RPC, make sure your class extends the special class `+"`DurableObject`"+`, which can be imported from the module \"cloudflare:workers\"."]`)
		w.want("Probe", "exports", `["Probe,Legacy", 2]`)
		w.want("Probe", "using", "{a: 1}")
		w.want("Probe", "order", `"0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19"`)
		w.want("Probe", "status", `[299, "Very Odd", "x-a,b", "http://x/status?a", "default"]`)
		w.want("Probe", "fetches", `[200, "p", "TypeError: Invalid URL: /x", "TypeError: Failed to execute 'fetch' on 'Fetcher': parameter 1 is not of type 'Request or string'."]`)
		w.want("Probe", "ids", `["TypeError: Failed to execute 'idFromName' on 'DurableObjectNamespace': parameter 1 is not of type 'string'.", `+
			`"TypeError: Invalid Durable Object ID: must be 64 hex digits", "TypeError: Durable Object ID is not valid for this namespace.", `+
			`"TypeError: Failed to execute 'get' on 'DurableObjectNamespace': parameter 1 is not of type 'DurableObjectId'.", undefined, true, `+
			`"Error: Jurisdiction restrictions are not implemented in workerd."]`)
	})
}

// LC-2j: a timer, an interval and waitUntil keep an object from eviction; without them it is gone after ten seconds.
func TestLifetime(t *testing.T) {
	t.Parallel()
	bubble(t, probe(map[string]string{
		"age":   `return this.years = (this.years ?? 0) + 1`,
		"timer": `setTimeout(() => s.put("fired", true), 15000)`,
		"wait":  `ctx.waitUntil(new Promise((r) => setTimeout(r, 13000)).then(() => { throw new Error("late") }))`,
		"fired": `return await s.get("fired")`,
		"tick":  `this.ticks = setInterval(() => {}, 1000)`,
		"still": `clearInterval(this.ticks)`,
	}), []string{"Probe"}, func(w *world) {
		w.want("Probe", "age", "1")
		time.Sleep(9 * time.Second)
		w.want("Probe", "age", "2")
		time.Sleep(12 * time.Second)
		w.want("Probe", "age", "1")
		w.want("Probe", "timer", "undefined")
		time.Sleep(14 * time.Second)
		w.want("Probe", "age", "2")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		w.want("Probe", "fired", "true")
		w.want("Probe", "wait", "undefined")
		time.Sleep(12 * time.Second)
		w.want("Probe", "age", "3")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if log := w.logged(); !strings.Contains(log, "Uncaught (in promise) Error: late") {
			t.Errorf("log: %s", log)
		}
		w.want("Probe", "tick", "undefined")
		time.Sleep(time.Minute)
		w.want("Probe", "age", "4")
		w.want("Probe", "still", "undefined")
		time.Sleep(12 * time.Second)
		w.want("Probe", "age", "1")
	})
}

const bodies = `
	import { DurableObject } from "cloudflare:workers";
	let made = 0;
	export class Bodies extends DurableObject {
		constructor(ctx, env) {
			super(ctx, env);
			made++;
			ctx.blockConcurrencyWhile(async () => { await new Promise((r) => setTimeout(r, 5)); this.ready = true; });
		}
		async fetch(request) {
			switch (new URL(request.url).pathname) {
			case "/length": return new Response(this.ready + " " + (await request.text()).length);
			case "/echo": return new Response(request.body);
			case "/stream": {
				const { readable, writable } = new TransformStream();
				const w = writable.getWriter();
				this.ctx.waitUntil((async () => {
					for (let n = 0; n < 3; n++) { await w.write(new TextEncoder().encode(n + ";")); await new Promise((r) => setTimeout(r, 10)); }
					await w.close();
				})());
				return new Response(readable, { headers: { "x-made": String(made) } });
			}
			case "/nothing": return;
			case "/loop": for (;;);
			}
		}
	}
	export class Broken extends DurableObject { constructor() { throw new TypeError("not today"); } }
	export default {};
`

func TestBodies(t *testing.T) {
	t.Parallel()
	bubble(t, bodies, []string{"Bodies", "Broken"}, func(w *world) {
		large := strings.Repeat("x", 300_000)
		for _, c := range []struct{ path, body, want string }{
			{"/length", "abc", "true 3"}, {"/length", large, "true 300000"}, {"/echo", "abc", "abc"}, {"/echo", large, large},
			{"/stream", "", "0;1;2;"},
		} {
			status, body, err := w.fetch("Bodies", "POST", c.path, c.body)
			if err != nil || status != 200 || body != c.want {
				t.Errorf("%s of %d bytes: %d %.40q %v", c.path, len(c.body), status, body, err)
			}
		}
		_, _, err := w.fetch("Bodies", "GET", "/nothing", "")
		if err == nil || describe(err) != "TypeError: Incorrect type for Promise: the Promise did not resolve to 'Response'. [remote]" {
			t.Errorf("no response: %v", err)
		}
		w.wantError("Broken", "x", "TypeError: not today [reset]")
	})
}

// From 2026-04-21 on an error keeps its name and its own properties.
func TestEnhancedErrors(t *testing.T) {
	t.Parallel()
	bubbleAt(t, "2026-08-20", probe(map[string]string{
		"custom": `class CE extends Error { name = "CE"; code = 7; f = () => 1 } throw new CE("msg")`,
		"caught": `try { await env.PROBE.getByName("p").custom() } catch (e) {
			return [e instanceof Error, e.name, e.message, e.code, e.f, e.remote, e.durableObjectId === env.PROBE.idFromName("p").toString()] }`,
	}), []string{"Probe"}, func(w *world) {
		w.want("Probe", "caught", `[true, "CE", "msg", 7, undefined, true, true]`)
		w.wantError("Probe", "custom", "CE: msg [remote]")
	})
}
