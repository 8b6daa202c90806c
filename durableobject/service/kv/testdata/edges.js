// Like probe.js: npm workerd 1.20261117.1 printed edges.txt.
const handler = { async fetch(q, { KV }) {
  const out = [];
  const p = async (n, f) => {
    try {
      let v = f();
      try {
        v = await v;
        out.push(n + " = " + (v instanceof Map ? "Map" + v.size : typeof v + ":" + JSON.stringify(v)));
      } catch (e) {
        out.push(n + " rejects " + e.name + ": " + e.message);
      }
    } catch (e) {
      out.push(n + " throws " + e.name + ": " + e.message);
    }
  };
  await KV.put("a", "1");
  await p("getter order", async () => { const log = []; await KV.get("a", { get type() { log.push("type"); return "text"; }, get cacheTtl() { log.push("cacheTtl"); return undefined; } }); return log; });
  await p("put getter order", async () => { const log = []; await KV.put("a", "1", { get metadata() { log.push("metadata"); }, get expirationTtl() { log.push("ttl"); }, get expiration() { log.push("exp"); } }); return log; });
  await p("list getter order", async () => { const log = []; await KV.list({ get cursor() { log.push("cursor"); }, get prefix() { log.push("prefix"); }, get limit() { log.push("limit"); } }); return log; });
  await p("get toString throws", () => KV.get({ toString() { throw new RangeError("x"); } }));
  await p("put toString throws", () => KV.put({ toString() { throw new RangeError("x"); } }, ""));
  await p("bulk nested array", () => KV.get([["a"]]));
  await p("bulk sparse", () => KV.get([, "a"]));
  await p("gwm bulk bad type", () => KV.getWithMetadata(["a"], "stream"));
  await p("limit bigint", () => KV.list({ limit: 5n }));
  await p("ttl bigint", () => KV.put("a", "1", { expirationTtl: 100n }));
  await p("ttl true", () => KV.put("a", "1", { expirationTtl: true }));
  await p("ttl obj", () => KV.put("a", "1", { expirationTtl: { valueOf: () => 100 } }));
  await p("ttl inf", () => KV.put("a", "1", { expirationTtl: Infinity }));
  await p("ttl symbol", () => KV.put("a", "1", { expirationTtl: Symbol("q") }));
  await p("options function", () => KV.put("a", "1", () => 1));
  await p("get options function", () => KV.get("a", () => 1));
  await p("resizable", async () => { const b = new ArrayBuffer(2, { maxByteLength: 4 }); new Uint8Array(b).set([97, 98]); await KV.put("rs", b); return KV.get("rs"); });
  await p("float view", async () => { await KV.put("fv", new Float32Array([1])); return (await KV.get("fv", "arrayBuffer")).byteLength; });
  await p("subarray", async () => { await KV.put("fv", new Uint8Array([97, 98, 99]).subarray(1)); return KV.get("fv"); });
  await p("constructor", () => new KV.constructor());
  await p("extends", () => { class X extends KV.constructor {} return new X(); });
  await p("proto call", () => Object.getPrototypeOf(KV).get.call(null, "x"));
  await p("descriptor", () => JSON.stringify(Object.getOwnPropertyDescriptor(Object.getPrototypeOf(KV), "get")));
  await p("tag", () => JSON.stringify(Object.getOwnPropertyDescriptor(Object.getPrototypeOf(KV), Symbol.toStringTag)));
  await p("names", () => [KV.get.name, KV.delete.name, KV.getWithMetadata.name]);
  await p("bom", async () => { await KV.put("bom", "\uFEFFx"); return [(await KV.get("bom")).length, await new Response(await KV.get("bom", "stream")).text()]; });
  await p("bom json", async () => { await KV.put("bom", "\uFEFF1"); return KV.get("bom", "json"); });
  await p("stream twice", async () => { const s = new Response("x").body; await KV.put("s", s); await KV.put("s", s); return KV.get("s"); });
  await p("mutate keys", async () => { const k = ["a"]; const pr = KV.get(k); k.push("b"); return await pr; });
  await p("json metadata proto", async () => { await KV.put("m", "", { metadata: JSON.parse('{"__proto__":1}') }); return (await KV.getWithMetadata("m")).metadata; });
  await p("date metadata", async () => { await KV.put("m", "", { metadata: new Date(0) }); return (await KV.getWithMetadata("m")).metadata; });
  await p("is promise", () => [KV.get("a") instanceof Promise, KV.list() instanceof Promise]);
  await p("stream type byob", async () => { const s = await KV.get("a", "stream"); const rd = s.getReader({ mode: "byob" }); const { value } = await rd.read(new Uint8Array(10)); return [...value]; });
  await p("empty map json null", async () => { await KV.put("n", "null"); return [...await KV.get(["n"], "json")]; });
  await p("gwm bulk json null", async () => { return [...await KV.getWithMetadata(["n"], "json")]; });
  await p("gwm bulk empty", async () => { await KV.put("e", ""); return [...await KV.getWithMetadata(["e"])]; });
  await p("gwm bulk zero", async () => { await KV.put("z", "0"); return [...await KV.getWithMetadata(["z"], "json")]; });
  return new Response(out.join("\n") + "\n");
} };
export { handler as default };
