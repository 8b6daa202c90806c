// The scripts of rpc_test.go: a service, and what its tests call.
(function (host) {
	const { WorkerEntrypoint, RpcTarget, RpcStub, RpcPromise, RpcProperty } = host.require("cloudflare:workers");
	const log = [];
	let kept;
	class Target extends RpcTarget {
		own = 1;
		constructor(n) {
			super();
			this.n = n;
		}
		get value() {
			return this.n;
		}
		get deep() {
			return { a: { b: 7, f: () => 8 } };
		}
		inc(by = 1) {
			return (this.n += by);
		}
		sub(n) {
			return new Target(n);
		}
		fail() {
			throw new RangeError("in a target");
		}
		[Symbol.dispose]() {
			log.push("disposed " + this.n);
		}
	}
	class Service extends WorkerEntrypoint {
		echo(...args) {
			return args.length === 1 ? args[0] : args;
		}
		target(n) {
			return new Target(n);
		}
		props() {
			return this.ctx.props;
		}
		fn() {
			return Object.assign((a, b) => [a, b], { extra: { v: 2, q: () => 1 } });
		}
		object() {
			return { a: 1, t: new Target(3), f: (x) => x * 2, n: { d: new Target(4) } };
		}
		number() {
			return 5;
		}
		nothing() {}
		async slow(n, ms) {
			await scheduler.wait(ms);
			log.push("slow " + n);
			return new Target(n);
		}
		get prop() {
			return new Target(11);
		}
		async call(f, ...args) {
			return await f(...args);
		}
		async use(t) {
			return [await t.value, await t.inc(3)];
		}
		async keep(f) {
			kept = f;
		}
		async keepAndCall(f) {
			kept = f.dup();
			return await kept();
		}
		async again() {
			return await kept();
		}
		async both(f, g) {
			return [f === g, await f(1), await g(2)];
		}
		async error(f) {
			try {
				await f();
			} catch (e) {
				return [e.name, e.message, e.remote];
			}
		}
		async later(f, ms = 5) {
			const mine = f.dup();
			this.ctx.waitUntil(scheduler.wait(ms).then(() => mine()).then((v) => log.push("later " + v), (e) => log.push(e.message)));
		}
		throws() {
			throw new Error("boom");
		}
		make(what) {
			switch (what) {
				case "headers":
					return new Headers([["a", "b"], ["set-cookie", "1"], ["set-cookie", "2"]]);
				case "response":
					return new Response("body", { status: 201, statusText: "Made", headers: { a: "b" } });
				case "no content":
					return new Response(null, { status: 204 });
				case "request":
					return new Request("http://x/y?z", { method: "POST", body: "rb", headers: { a: "b" }, redirect: "manual", cf: { q: 1 } });
				case "bytes":
					return new ReadableStream({
						pull(c) {
							c.enqueue(new TextEncoder().encode("x1"));
							c.close();
						},
					});
				case "text":
					return new ReadableStream({
						pull(c) {
							c.enqueue("text");
							c.close();
						},
					});
				case "objects":
					return new ReadableStream({ pull: (c) => c.enqueue({ a: 1 }) });
				case "failing":
					return new ReadableStream({ pull: (c) => c.error(new RangeError("bad")) });
				case "endless":
					return new ReadableStream({
						pull(c) {
							log.push("pulled");
							c.enqueue(new Uint8Array(1 << 10));
						},
						cancel(reason) {
							log.push("canceled: " + reason.message);
						},
					});
				case "large":
					return new Response("x".repeat(3 << 20));
				case "slow":
					return new Response(
						new ReadableStream({
							async start(c) {
								for (const part of ["a", "b"]) {
									c.enqueue(new TextEncoder().encode(part));
									await scheduler.wait(2);
								}
								c.close();
							},
						}),
					);
			}
		}
		async read(v) {
			return [v.constructor.name, v.url, v.method ?? v.status, [...v.headers], await v.text()];
		}
		async readStream(v) {
			return [v.constructor.name, await new Response(v).text()];
		}
		readLater(v) {
			this.ctx.waitUntil(new Response(v).text().then((text) => log.push("read " + text)));
		}
		async write(w, ...chunks) {
			const writer = w.getWriter();
			for (const chunk of chunks) await writer.write(typeof chunk === "number" ? new Uint8Array([chunk]) : chunk);
			await writer.close();
			return w.constructor.name;
		}
		async abort(w) {
			await w.abort(new RangeError("no more"));
		}
		async cancel(r) {
			await r.cancel(new RangeError("no more"));
		}
		never() {
			return new Promise(() => {});
		}
		log() {
			return log.splice(0);
		}
		fetch() {
			return new Response("fetched");
		}
	}
	const kind = (v) => [
		typeof v, Object.prototype.toString.call(v), v.constructor.name, Object.getOwnPropertyNames(v).join(),
		v instanceof RpcStub, v instanceof RpcPromise, v instanceof RpcProperty, v instanceof Function,
	];
	const text = (e) => `${e.name}: ${e.message}${e.remote ? " (remote)" : ""}`;
	const error = (p) => p.then((v) => v, text);
	// logged waits until a log has n lines with a word: that of a service, or this script's own.
	const logged = async (read, n, word = "") => {
		const all = [];
		for (let k = 0; k < 10000 && all.length < n; k++) {
			all.push(...(await read()).filter((line) => line.includes(word)));
			if (all.length < n) await scheduler.wait(2);
		}
		return all;
	};
	const own = () => log.splice(0);
	const probes = {
		/*PROBES*/
	};
	const worker = {
		async fetch(request, env, ctx) {
			const name = decodeURIComponent(new URL(request.url).pathname.slice(1));
			try {
				const v = await probes[name](env.SVC, env, ctx);
				return Response.json(v === undefined ? "undefined" : v);
			} catch (e) {
				return new Response("throws " + text(e));
			}
		},
	};
	const Handlers = {
		one: (a) => ["one", a],
		three: (a, env, ctx) => [a, typeof env.SVC, typeof ctx.waitUntil],
		four: (a, b, c, d) => d,
		prop: 5,
		object: { a: 1, f: (v) => v },
	};
	return { default: worker, Service, Handlers };
})
