// What the edge gives a Worker: where the client is, and a cache.
import { DurableObject } from "cloudflare:workers";

const where = (request) => [request.cf?.country, request.cf?.tlsClientAuth?.certPresented, Object.keys(request.cf ?? {}).length];

async function keep(url, body, headers) {
  await caches.default.put(url, new Response(body, { headers: { "cache-control": "max-age=60", ...headers } }));
  return kept(url);
}

async function kept(url, headers) {
  const r = await caches.default.match(new Request(url, { headers }));
  return r ? [r.status, await r.text(), r.headers.get("cf-cache-status")] : "nothing";
}

export class Room extends DurableObject {
  async fetch(request) {
    if (new URL(request.url).pathname === "/where") return Response.json(where(request));
    await this.ctx.storage.put("n", 1);
    const before = await kept("http://a/object");
    return Response.json([before, await keep("http://a/object", "of an object"), await caches.default.delete("http://a/object")]);
  }
}

export default {
  async fetch(request, env) {
    const room = env.ROOM.getByName("a");
    switch (new URL(request.url).pathname) {
      case "/where":
        return Response.json(where(request));
      case "/where/others":
        return Response.json([
          ...(await Promise.all([room.fetch("http://a/where", request), room.fetch("http://a/where"), room.fetch("http://a/where", { cf: { country: "XX" } })].map(async (r) => (await r).json()))),
        ]);
      case "/keep":
        return Response.json(await keep("http://a/page", await request.text(), { etag: '"v1"' }));
      case "/kept":
        return Response.json([await kept("http://a/page"), await kept("http://a/page", { range: "bytes=1-2" }), await kept("http://a/page", { "if-none-match": '"v1"' })]);
      case "/object":
        return room.fetch("http://a/keep");
      case "/forget":
        return Response.json([await caches.default.delete("http://a/page"), await caches.default.delete("http://a/page")]);
    }
  },
};
