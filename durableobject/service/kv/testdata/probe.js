// Prints one line a probe. Run by npm workerd 1.20261117.1 with a KV namespace it printed probe.txt.
const show = (v) => {
	if (v instanceof Map) return "Map" + JSON.stringify([...v]);
	if (v instanceof ArrayBuffer) return "ArrayBuffer " + v.byteLength;
	if (v instanceof ReadableStream) return "ReadableStream";
	return v === undefined ? "undefined" : JSON.stringify(v);
};
const repeat = (c, n) => c.repeat(n);
const bodies = () => [
	["undefined", undefined], ["null", null], ["number", 5], ["object", {}], ["boolean", true], ["array", []],
	["date", new Date(0)], ["symbol", Symbol("x")], ["bigint", 5n], ["function", () => 1],
	["Uint8Array", new Uint8Array([104, 105])], ["ArrayBuffer", new Uint8Array([104, 105]).buffer],
	["DataView", new DataView(new Uint8Array([104, 105, 106]).buffer, 1)], ["Blob", new Blob(["blob"])],
	["URLSearchParams", new URLSearchParams("a=1")], ["body", new Response("resp").body], ["Response", new Response("resp")],
	["FormData", new FormData()], ["String", new String("x")], ["empty", ""],
	["stream", new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode("abc")); c.close(); } })],
	["strings", new ReadableStream({ start(c) { c.enqueue("abc"); c.enqueue("é"); c.close(); } })],
	["numbers", new ReadableStream({ start(c) { c.enqueue(5); c.close(); } })],
	["byte stream", new ReadableStream({ type: "bytes", start(c) { c.enqueue(new Uint8Array([97, 98])); c.close(); } })],
	["failing stream", new ReadableStream({ start(c) { c.error(new Error("boo")); } })],
	["locked stream", (() => { const s = new Response("x").body; s.getReader(); return s; })()],
];
const run = async (KV) => {
	const out = [];
	const p = async (name, f) => {
		let promise;
		try {
			promise = f();
		} catch (e) {
			out.push(name + " throws " + e.name + ": " + e.message);
			return;
		}
		try {
			out.push(name + " = " + show(await promise));
		} catch (e) {
			out.push(name + " rejects " + e.name + ": " + e.message);
		}
	};
	const now = () => Math.floor(Date.now() / 1000);
	out.push(String(KV), KV.constructor.name, Object.getOwnPropertyNames(Object.getPrototypeOf(KV)).join());
	out.push(Object.keys(KV).join(), String(KV.put.length), typeof globalThis.KvNamespace, String("get" in KV));

	await p("get missing", () => KV.get("nope"));
	await p("get missing of a bad type", () => KV.get("nope", "bad"));
	await p("getWithMetadata missing", () => KV.getWithMetadata("nope"));
	await p("put", () => KV.put("a", "1"));
	await p("put with metadata", () => KV.put("b", '{"x":1}', { metadata: { m: [1, null, "é<>&"] }, expirationTtl: 100 }));
	await p("get", () => KV.get("a"));
	const types = [
		"text", "json", "arrayBuffer", "stream", "TEXT", "", null, undefined, 5, {}, { type: "json" }, { type: "bad" },
		{ type: null }, { type: undefined }, { cacheTtl: 60 }, { cacheTtl: 30 }, { cacheTtl: 29 }, { cacheTtl: -1 },
		{ cacheTtl: "x" }, { cacheTtl: "60" }, { cacheTtl: 60.5 }, { cacheTtl: null }, { cacheTtl: 3e9 }, [], true,
	];
	for (const t of types) await p("get " + JSON.stringify(t), () => KV.get("b", t));
	for (const t of ["json", undefined, { type: "arrayBuffer" }, "bad"]) {
		await p("getWithMetadata " + JSON.stringify(t), async () => {
			const r = await KV.getWithMetadata("b", t);
			return [Object.keys(r), show(r.value), r.metadata, r.cacheStatus];
		});
	}
	await p("text of a stream", async () => new Response(await KV.get("b", "stream")).text());
	await p("no JSON", async () => {
		await KV.put("t", "{oops");
		return KV.get("t", "json");
	});
	await p("empty", async () => {
		await KV.put("e", "");
		return [await KV.get("e"), (await KV.get("e", "arrayBuffer")).byteLength, await new Response(await KV.get("e", "stream")).text()];
	});
	await p("empty JSON", () => KV.get("e", "json"));
	await p("no UTF-8", async () => {
		await KV.put("u", new Uint8Array([255, 97, 0xe2, 0x82]));
		return [await KV.get("u"), [...new Uint8Array(await KV.get("u", "arrayBuffer"))]];
	});
	await p("later change of a buffer", async () => {
		const b = new Uint8Array([97]);
		const done = KV.put("later", b);
		await done;
		b[0] = 98;
		return KV.get("later");
	});

	const keys = [
		"", ".", "..", repeat("x", 513), repeat("é", 257), repeat("x", 512), undefined, null, 5, {}, "a/b", "../x",
		"a?b#c%20 d", "\u0000", "é",
	];
	for (const k of keys) {
		const name = (k === undefined ? "undefined" : JSON.stringify(k)).slice(0, 20);
		await p("get of " + name, () => KV.get(k));
		await p("put of " + name, () => KV.put(k, "v"));
		await p("get again of " + name, () => KV.get(k));
		await p("delete of " + name, () => KV.delete(k));
		await p("getWithMetadata of " + name, () => KV.getWithMetadata(k));
	}
	const symbol = Symbol("s");
	await p("get(symbol)", () => KV.get(symbol));
	await p("put(symbol)", () => KV.put(symbol, ""));
	await p("delete(symbol)", () => KV.delete(symbol));
	await p("get()", () => KV.get());
	await p("put()", () => KV.put());
	await p("put(k)", () => KV.put("k"));
	await p("delete()", () => KV.delete());
	await p("getWithMetadata()", () => KV.getWithMetadata());
	await p("get of nobody", () => (0, KV.get)("x"));
	await p("delete of nobody", () => KV.delete.call({}, "x"));

	for (const [name, v] of bodies()) {
		await p("put " + name, async () => {
			await KV.put("body", v);
			return KV.get("body");
		});
	}
	const at = (n) => now() + n;
	const options = () => [
		["ttl 59", { expirationTtl: 59 }], ["ttl 60", { expirationTtl: 60 }], ["ttl 0", { expirationTtl: 0 }],
		["ttl -1", { expirationTtl: -1 }], ["ttl x", { expirationTtl: "x" }], ["ttl 60.5", { expirationTtl: 60.5 }],
		["ttl '100'", { expirationTtl: "100" }], ["ttl null", { expirationTtl: null }], ["ttl NaN", { expirationTtl: NaN }],
		["ttl 1e12", { expirationTtl: 1e12 }], ["ttl undefined", { expirationTtl: undefined }],
		["at 0", { expiration: 0 }], ["at -5", { expiration: -5 }], ["at x", { expiration: "x" }],
		["at 120", { expiration: at(120) }], ["both", { expiration: at(120), expirationTtl: 60 }],
		["at 200.7", { expiration: at(200.7) }], ["metadata 1024", { metadata: repeat("x", 1022) }],
		["metadata 1025", { metadata: repeat("x", 1023) }], ["metadata undefined", { metadata: undefined }],
		["metadata null", { metadata: null }], ["metadata function", { metadata: () => 1 }], ["metadata 5", { metadata: 5 }],
		["metadata of two bytes", { metadata: repeat("é", 600) }], ["metadata bigint", { metadata: 5n }],
		["metadata false", { metadata: false }], ["metadata ''", { metadata: "" }],
		["metadata toJSON", { metadata: { toJSON: () => [1] } }],
		["null", null], ["5", 5], ["str", "str"], ["[]", []], ["true", true], ["{}", {}],
	];
	for (const [name, o] of options()) {
		await p("put with " + name, async () => {
			const before = now();
			await KV.put("po", "v", o);
			const { metadata } = await KV.getWithMetadata("po");
			const { keys: [k] } = await KV.list({ prefix: "po" });
			const left = k.expiration === undefined ? "none" : Math.round((k.expiration - before) / 10) * 10;
			return [JSON.stringify(metadata).slice(0, 20), Object.keys(k), left];
		});
	}
	await p("overwritten", async () => {
		await KV.put("w", "1", { metadata: 1, expirationTtl: 100 });
		await KV.put("w", "2");
		return [await KV.getWithMetadata("w"), (await KV.list({ prefix: "w" })).keys];
	});

	for (const k of (await KV.list()).keys) await KV.delete(k.name);
	for (let i = 0; i < 5; i++) await KV.put("p/" + i, "" + i, i % 2 ? { metadata: { i } } : undefined);
	await KV.put("q", "z");
	await KV.put("\uFFFD", "bmp");
	await KV.put("\u{1F600}", "astral");
	let cursor;
	await p("list", () => KV.list());
	await p("list p/", async () => {
		const l = await KV.list({ prefix: "p/", limit: 2 });
		cursor = l.cursor;
		return l;
	});
	await p("list on", () => KV.list({ prefix: "p/", limit: 2, cursor }));
	await p("list with another prefix", () => KV.list({ prefix: "q", cursor }));
	const lists = [
		{ limit: 0 }, { limit: -1 }, { limit: 1000 }, { limit: 1001 }, { limit: "2" }, { limit: "x" }, { limit: 1.5 },
		{ limit: null }, { limit: 1e12 }, { cursor: "bad!!" }, { cursor: "" }, { cursor: null }, { prefix: null },
		{ prefix: "" }, { prefix: repeat("x", 513) }, { prefix: 5 }, null, undefined, 5, "x", [], { limit: 8 }, { limit: 7 },
	];
	for (const o of lists) {
		await p("list " + (o === undefined ? "undefined" : JSON.stringify(o)).slice(0, 30), async () => {
			const l = await KV.list(o);
			return [l.keys.length, Object.keys(l), l.list_complete, typeof l.cursor, l.cacheStatus];
		});
	}
	await p("delete", () => KV.delete("q"));
	await p("delete again", () => KV.delete("q"));
	await p("delete of an array", () => KV.delete(["q", "p/1"]));

	await p("bulk", () => KV.get(["p/1", "p/2", "nope", "p/1"]));
	for (const t of ["text", "json", "", "arrayBuffer", "foo", null, { type: "json" }, { cacheTtl: 60 }, { cacheTtl: 5 }, 5]) {
		await p("bulk " + JSON.stringify(t), () => KV.get(["p/1", "nope"], t));
	}
	await p("bulk with metadata", () => KV.getWithMetadata(["p/1", "p/2", "nope"]));
	await p("bulk JSON with metadata", () => KV.getWithMetadata(["p/1", "nope"], "json"));
	await p("bulk of none", () => KV.get([]));
	await p("bulk of 100", async () => (await KV.get(Array.from({ length: 100 }, (_, i) => "k" + i))).size);
	await p("bulk of 101", () => KV.get(Array.from({ length: 101 }, (_, i) => "k" + i)));
	await p("bulk of a long key", () => KV.get([repeat("x", 513)]));
	await p("bulk of an empty key", () => KV.get([""]));
	await p("bulk of .", () => KV.get(["."]));
	await p("bulk of null", () => KV.get([null]));
	await p("bulk of a symbol", () => KV.get([symbol]));
	await p("bulk of a set", () => KV.get(new Set(["p/1"])));
	await p("bulk of no JSON", async () => {
		await KV.put("bad", "{x");
		return KV.get(["bad"], "json");
	});

	const most = 25 * 1024 * 1024;
	await p("largest", () => KV.put("big", new Uint8Array(most)));
	await p("get largest", () => KV.get("big", "arrayBuffer"));
	await p("too large", () => KV.put("big", new Uint8Array(most + 1)));
	await p("too large a stream", () => KV.put("big", new Response(new Uint8Array(most + 1)).body));
	await p("too large a string", () => KV.put("big", repeat("x", most + 1)));
	return out.join("\n") + "\n";
};
const handler = {
	async fetch(request, env) {
		return new Response(await run(env.KV));
	},
};
export { handler as default };
