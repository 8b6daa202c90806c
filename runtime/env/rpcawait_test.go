package env_test

import "testing"

// Calls that are awaited where they are made, for which the engine waits by a promise of its own.
func TestRPCAwaitedAtOnce(t *testing.T) {
	t.Parallel()
	runProbes(t, newDate, []probe{
		{"replaced then", `const proto = Object.getPrototypeOf(S.object()), { then } = proto;
			proto.then = function (f) { f("mine"); };
			try { return await S.object(); } finally { proto.then = then; }`, `"mine"`},
		{"caught", `try { await S.object().foo(); } catch (e) { return e.message; }`,
			`"The RPC receiver does not implement the method \"foo\"."`},
		{"not sent", `try { await S.target(Symbol()); } catch (e) { return e.name; }`, `"DataCloneError"`},
		{"made before", `const p = S.target(3), o = { get: () => p }; await null;
			return [(await o.get()) === (await o.get()), await (await o.get()).value]`, `[true,3]`},
		{"awaited and used", `let p; const o = { get: () => (p = S.target(3)) }, t = await o.get();
			return [await p === t, await p.value, await p.then((t) => t.inc()), await p.finally(() => {}) === t]`, `[true,3,4,true]`},
		{"nested", `return await S.target(await S.target(5).inc()).inc()`, `7`},
		{"returned at once", `return [await S.fn()(1, 2), await (async () => S.target(8).inc())()]`, `[[1,2],9]`},
		{"side by side", `const f = async (n) => (await S.slow(n, 5 - n)).inc();
			return Promise.all([1, 2, 3].map(async (n) => await f(n)))`, `[2,3,4]`},
		{"disposed", `await S.log(); const t = await S.target(61); t[Symbol.dispose]();
			return logged(() => S.log(), 1, "61")`, `["disposed 61"]`},
	})
}
