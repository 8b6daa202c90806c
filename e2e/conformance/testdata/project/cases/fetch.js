import { area } from "../probe.js";

const url = "http://example.com/a";
const request = (init) => new Request(url, init);

area("headers", {
  worker: {
    "combined": () => new Headers([["a", "1"], ["A", "2"], ["b", " 3 "]]),
    "of a map": () => new Headers(new Map([["a", "1"]])),
    "of headers": () => new Headers(new Headers({ a: "1" })),
    "of numbers": () => new Headers({ a: 1, b: null, c: undefined }),
    "of Latin-1": () => new Headers({ a: "\u00e9" }).get("a"),
    "of other text": () => new Headers({ a: "\u20ac" }).get("a"),
    "of an empty name": () => new Headers({ "": "a" }),
    "of a name with a colon": () => new Headers({ "a:": "a" }),
    "of a value with zero": () => new Headers({ a: "a\0b" }),
    "of a value with line ends around": () => new Headers({ a: "\r\n a \t" }).get("a"),
    "has": () => [new Headers({ a: "1" }).has("A"), new Headers().has("b")],
    "has of a bad name": () => new Headers().has("a b"),
    "get of a bad name": () => new Headers().get("\u20ac"),
    "get missing": () => new Headers().get("b"),
    "delete": () => {
      const h = new Headers({ a: "1", b: "2" });
      return [h.delete("A"), h.delete("x"), [...h]];
    },
    "set after append": () => {
      const h = new Headers();
      h.append("a", "1");
      h.append("a", "2");
      h.set("a", "3");
      return [...h];
    },
    "order of iteration": () => [...new Headers({ z: "1", "x-a": "2", B: "3", "content-type": "x" }).keys()],
    "cookies apart": () => {
      const h = new Headers([["set-cookie", "a"], ["b", "c"], ["Set-Cookie", "d"]]);
      return [[...h], h.get("set-cookie"), h.getSetCookie(), h.getAll("set-cookie")];
    },
    "entries are iterators": () => {
      const it = new Headers({ a: "1" }).entries();
      return [it.next(), it.next(), it[Symbol.iterator]() === it];
    },
    "forEach": () => {
      const out = [];
      const h = new Headers({ a: "1" });
      h.forEach(function (v, k, all) {
        out.push(v, k, all === h, this.t);
      }, { t: 5 });
      return out;
    },
    "changed while iterated": () => {
      const h = new Headers({ a: "1", b: "2" });
      const out = [];
      for (const [k] of h) {
        out.push(k);
        if (out.length === 1) h.append("c", "3");
      }
      return out;
    },
  },
});

area("requests", {
  worker: {
    "defaults": () => {
      const r = request();
      return [r.method, r.redirect, r.body, r.bodyUsed, r.integrity, r.cache, r.keepalive, r.signal?.aborted, r.cf, r.fetcher];
    },
    "of a request with another body": async () => new Request(request({ method: "POST", body: "a" }), { body: "b" }).text(),
    "of a used request": async () => {
      const r = request({ method: "POST", body: "a" });
      await r.text();
      return new Request(r);
    },
    "of a request takes its body": async () => {
      const a = request({ method: "POST", body: "a" });
      const b = new Request(a);
      return [a.bodyUsed, await b.text()];
    },
    "method in small letters": () => ["post", "Put", "patch"].map((m) => { try { return request({ method: m }).method; } catch (e) { return e; } }),
    "CONNECT": () => request({ method: "CONNECT" }).method,
    "cf": () => request({ cf: { a: 1 } }).cf,
    "cf is a copy": () => { const cf = { a: { b: 1 } }; const r = request({ cf }); cf.a.b = 2; return [r.cf, r.cf === r.cf, r.cf === cf, Object.isFrozen(r.cf)]; },
    "cf of a clone": () => { const r = request({ cf: { a: { b: 1 } } }); const c = r.clone(); const n = new Request(r); r.cf.a.b = 2; return [r.cf, c.cf, n.cf, r.clone().cf]; },
    "cf of another request": () => { const r = request({ cf: { a: 1 } }); return [new Request(r).cf, new Request("http://b/", r).cf, new Request(r, {}).cf, new Request(r, { cf: { b: 2 } }).cf, new Request(r, { cf: undefined }).cf]; },
    "cf as JSON": () => [request({ cf: { d: new Date(0), f() {}, u: undefined, n: NaN } }).cf, request({ cf: [1] }).cf, request({ cf: { toJSON() { return { j: 1 }; } } }).cf, request({ cf: Object.create({ a: 1 }) }).cf],
    "cf that may not be": () => [null, 5, "x", true, () => 1, { a: 5n }].map((cf) => { try { return request({ cf }).cf; } catch (e) { return `${e.name}: ${e.message}`; } }),
    "cf cloned": () => structuredClone(request({ cf: { a: 1 } })).cf,
    "cf is read only": () => { const r = request({ cf: { a: 1 } }); try { r.cf = 5; } catch (e) { return [e.name, r.cf]; } },
    "cache": () => request({ cache: "no-store" }).cache,
    "cache of another kind": () => request({ cache: "force-cache" }).cache,
    "mode": () => request({ mode: "cors" }).mode,
    "credentials": () => request({ credentials: "include" }).credentials,
    "referrer": () => request({ referrer: "x" }).referrer,
    "duplex": () => request({ method: "POST", body: new Blob(["a"]).stream(), duplex: "half" }).method,
    "user in the URL": () => new Request("http://u:p@a/").url,
    "scheme": () => new Request("ftp://a/").url,
    "relative": () => new Request("/a"),
    "content type of text": () => request({ method: "POST", body: "a" }).headers,
    "content type of parameters": () => request({ method: "POST", body: new URLSearchParams("a=b") }).headers,
    "content type given": () => request({ method: "POST", body: "a", headers: { "content-type": "x/y" } }).headers,
    "json of bad text": () => request({ method: "POST", body: "{a" }).json(),
    "clone reads twice": async () => {
      const a = request({ method: "POST", body: "a" });
      const b = a.clone();
      return [await a.text(), await b.text()];
    },
    "clone when used": async () => {
      const a = request({ method: "POST", body: "a" });
      await a.text();
      return a.clone();
    },
    "text without a body": () => request().text(),
    "json without a body": () => request().json(),
    "signal": () => {
      const c = new AbortController();
      const r = request({ signal: c.signal });
      c.abort("why");
      return [r.signal.aborted, r.signal.reason];
    },
    "signal of another kind": () => request({ signal: 5 }),
    "init of another kind": () => new Request(url, 5),
    "headers of another kind": () => request({ headers: 5 }),
    "method of another kind": () => request({ method: 5 }),
    "form": async () => {
      const f = new FormData();
      f.append("a", "1");
      f.append("b", new File(["x"], "n.txt", { type: "text/plain" }));
      const back = await request({ method: "POST", body: f }).formData();
      const file = back.get("b");
      return [back.get("a"), file.name, file.type, await file.text(), [...back.keys()]];
    },
    "form of nothing": () => request({ method: "POST", body: "x", headers: { "content-type": "multipart/form-data" } }).formData(),
    "form cut off": () =>
      request({ method: "POST", body: "--b\r\n", headers: { "content-type": "multipart/form-data; boundary=b" } }).formData(),
  },
});

area("responses", {
  worker: {
    "of null": async () => [new Response(null).body, await new Response(null).text()],
    "of empty text": async () => [new Response("").body === null, (await new Response("").bytes()).length],
    "status 200 to 599": () => [200, 299, 304, 451, 599].map((status) => new Response(null, { status }).status),
    "status of text": () => new Response(null, { status: "201" }).status,
    "status of a fraction": () => new Response(null, { status: 200.9 }).status,
    "statusText": () => new Response(null, { status: 404, statusText: "Gone Away" }).statusText,
    "statusText of other text": () => new Response(null, { statusText: "\u20ac" }).statusText,
    "init of a response": () => {
      const r = new Response("a", new Response("b", { status: 201, headers: { a: "b" } }));
      return [r.status, r.headers.get("a")];
    },
    "encodeBody": () => new Response("a", { encodeBody: "manual" }).status,
    "encodeBody of another kind": () => new Response("a", { encodeBody: "x" }).status,
    "cf": () => new Response("a", { cf: { a: 1 } }).cf,
    "cf of a clone": () => { const r = new Response("a", { cf: { a: 1 } }); return [r.clone().cf, r.clone().cf === r.cf, new Response("b", r).cf, Object.isFrozen(r.cf)]; },
    "cf that may not be": () => new Response("a", { cf: null }),
    "webSocket": () => new Response("a").webSocket,
    "json of null": async () => Response.json(null).text(),
    "json of a date": async () => Response.json({ d: new Date(0), u: undefined, n: NaN }).text(),
    "json of a cycle": () => {
      const a = {};
      a.a = a;
      return Response.json(a);
    },
    "json with toJSON": async () => Response.json({ toJSON: () => "j" }).text(),
    "redirect statuses": () => [301, 302, 303, 307, 308].map((s) => Response.redirect(url, s).status),
    "redirect's headers may not change": () => Response.redirect(url).headers.set("a", "b"),
    "error": () => {
      const r = Response.error();
      return [r.status, r.type, r.ok];
    },
    "clone": async () => {
      const a = new Response("a", { status: 201 });
      const b = a.clone();
      return [await a.text(), await b.text(), b.status];
    },
    "used twice": async () => {
      const r = new Response("a");
      await r.text();
      return r.bytes();
    },
    "body locked": async () => {
      const r = new Response("a");
      r.body.getReader();
      return [r.bodyUsed, await r.text().catch((e) => e)];
    },
    "body of a used response": async () => {
      const r = new Response("a");
      await r.text();
      return [r.bodyUsed, r.body.locked];
    },
    "body of bytes": async () => new Response(new Uint16Array([0x4142])).text(),
    "body of a view": async () => new Response(new Uint8Array([65, 66, 67]).subarray(1)).text(),
    "blob's type": async () => (await new Response(new Blob(["a"], { type: "x/y" })).blob()).type,
    "form encoded": async () => [...(await new Response(new URLSearchParams([["a", "b c"], ["d", "&"]])).formData())],
    "text of a broken sequence": () => new Response(new Uint8Array([0x61, 0xe2, 0x82])).text(),
    "json of a byte order mark": () => new Response("\ufeff{}").json(),
    "to a service": async ({ env }) => {
      const r = await env.SELF.fetch("http://self/handle/json", { headers: { "accept-encoding": "identity" } });
      return [r.status, r.headers.get("content-type"), r.headers.get("content-length"), await r.json()];
    },
    "cookies of a service": async ({ env }) => (await env.SELF.fetch("http://self/handle/cookies")).headers.getSetCookie(),
    "stream of a service": async ({ env }) => (await env.SELF.fetch("http://self/handle/stream")).text(),
  },
});

area("urls", {
  worker: {
    "parts": () => {
      const u = new URL("https://us%20er:p%40ss@ex\u00e4mple.com:8443/a%2Fb/../c;d?q=1&q=2#h%20x");
      return [u.origin, u.host, u.username, u.password, u.pathname, u.search, u.hash, u.href, u.port];
    },
    "default port": () => new URL("https://a:443/").port,
    "dots": () => new URL("http://a/b/./../../c/.").pathname,
    "encoded dots": () => new URL("http://a/b/%2e%2E/c").pathname,
    "backslash": () => new URL("http://a\\b\\c").href,
    "spaces around": () => new URL("  http://a/ b \n").href,
    "tabs within": () => new URL("ht\ttp://a/\nb").href,
    "query characters": () => new URL("http://a/?'\"<> \u00e9").search,
    "path characters": () => new URL("http://a/'\"<>{}|^` \u00e9").pathname,
    "hash characters": () => new URL("http://a/#'\"<>` \u00e9").hash,
    "other scheme": () => {
      const u = new URL("foo:bar/../baz?x");
      return [u.origin, u.pathname, u.host, u.href];
    },
    "relative to other schemes": () => new URL("x", "data:a").href,
    "IPv4 forms": () => ["http://0x7f.1/", "http://127.1/", "http://2130706433/"].map((x) => new URL(x).host),
    "IPv4 too large": () => new URL("http://256.1.1.1/"),
    "IPv6": () => new URL("http://[1:0:0:2::]:8/").host,
    "IPv6 with IPv4": () => new URL("http://[::ffff:1.2.3.4]/").host,
    "IPv6 bad": () => new URL("http://[::g]/"),
    "bad percent in host": () => new URL("http://a%zz/"),
    "bad port": () => new URL("http://a:99999/"),
    "empty host": () => new URL("http:///a").href,
    "empty host of another scheme": () => new URL("foo:///a").href,
    "file": () => new URL("file:///C|/a/../..").href,
    "setters": () => {
      const u = new URL("http://a/b?c#d");
      u.pathname = "x y?z";
      u.search = "a b#c";
      u.hash = "h i";
      u.hostname = "EX.com";
      u.username = "u:u";
      u.password = "p@";
      return u.href;
    },
    "setters that do nothing": () => {
      const u = new URL("http://a:1/b");
      u.port = "x";
      u.protocol = "data";
      u.host = "";
      u.hostname = "a b";
      return u.href;
    },
    "origin may not be set": () => {
      const u = new URL("http://a/");
      u.origin = "x";
      return u.origin;
    },
    "punycode": () => ["http://\u4f8b\u3048.jp/", "http://xn--r8jz45g.jp/", "http://FA\u00df.de/"].map((x) => new URL(x).host),
    "search parameters are live": () => {
      const u = new URL("http://a/?x=1");
      const p = u.searchParams;
      p.append("y", "\u00e9 +&");
      p.delete("x");
      return [u.href, u.searchParams === p];
    },
    "search parameters decode": () => [...new URLSearchParams("a=%zz&b=%e2%82&c=%E2%82%AC&=d&e&&f==")],
    "search parameters of pairs": () => new URLSearchParams([["a", 1], ["b", null]]).toString(),
    "search parameters of an object": () => new URLSearchParams({ a: [1, 2], b: undefined }).toString(),
    "search parameters sorted": () => {
      const p = new URLSearchParams("z=1&\u{1F600}=2&\uFFFD=3&a=4&z=0");
      p.sort();
      return [...p.keys()].map((k) => k.codePointAt(0).toString(16));
    },
    "search parameters size": () => new URLSearchParams("a&b&a").size,
    "search parameters while iterated": () => {
      const p = new URLSearchParams("a=1&b=2&c=3");
      const out = [];
      for (const [k] of p) {
        out.push(k);
        p.delete("b");
      }
      return out;
    },
  },
});
