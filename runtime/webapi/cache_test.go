package webapi

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/runtime/isolate"
)

func TestCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newWorker(t, `
			const put = (url, headers, body = "x", status = 200) => caches.default.put(url, new Response(body, { headers, status }));
			const at = async (url, cache = caches.default) => { const r = await cache.match(url); return r && [r.status, await r.text(), r.headers.get("cf-cache-status")]; };
			export default { async fetch() {
				const out = [];
				await put("http://a/1", { "cache-control": "max-age=60" }, "one");
				await put("http://a/2", { "cache-control": "no-store" });
				await put("http://a/3", { "set-cookie": "a=b" });
				await put("http://a/4", {}, "gone", 404);
				await put("http://a/5", {}, "odd", 500);
				await put("http://a/6", { expires: "Sat, 01 Jan 2000 02:00:00 GMT" }, "till two");
				await put("http://a/7", { "cache-control": "s-maxage=5, max-age=500" });
				await put("http://a/8", {}, "y".repeat(5000));
				const named = await caches.open("other");
				out.push(await at("http://a/1", named));
				await named.put("http://a/1", new Response("another"));
				for (let n = 1; n <= 8; n++) out.push(await at("http://a/" + n));
				await scheduler.wait(61e3);
				out.push(await at("http://a/1"), await at("http://a/1", named), await at("http://a/7"));
				out.push(await caches.default.delete("http://a/4"), await caches.default.delete("http://a/4"), await at("http://a/4"));
				return Response.json(out);
			} };`, isolate.Options{}, Options{Cache: NewMemoryCache(4000, nil)})
		_, body, err := get(t, i, "/")
		want := `[null,[200,"one","HIT"],null,null,[404,"gone","HIT"],null,[200,"till two","HIT"],[200,"x","HIT"],null,` +
			`null,[200,"another","HIT"],null,true,false,null]`
		if err != nil || body != want {
			t.Errorf("got  %s\nwant %s\n%v", body, want, err)
		}
		i.Close()
	})
}

func TestMemoryCacheForgetsTheOldest(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	i := newWorker(t, `export default { async fetch() {
		const out = [];
		for (let n = 0; n < 5; n++) {
			await caches.default.put("http://a/" + n, new Response("z".repeat(500)));
			await caches.default.match("http://a/0");
		}
		for (let n = 0; n < 5; n++) out.push(!!(await caches.default.match("http://a/" + n)));
		return Response.json(out);
	} };`, isolate.Options{}, Options{Cache: NewMemoryCache(2600, func() time.Time { return now })})
	if _, body, err := get(t, i, "/"); err != nil || body != "[true,false,false,true,true]" {
		t.Error(body, err)
	}
}
