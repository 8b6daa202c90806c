package webapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
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

// A part of what is kept, and nothing where the caller has it already.
func TestCachePartsAndConditions(t *testing.T) {
	t.Parallel()
	i := newWorker(t, `
		const at = async (headers, url = "http://a/1") => {
			const r = await caches.default.match(new Request(url, { headers }));
			return r && [r.status, await r.text(), r.headers.get("content-range"), r.headers.get("content-type"), r.headers.get("cf-cache-status"), r.headers.has("set-cookie")];
		};
		export default { async fetch() {
			const headers = { etag: '"v1"', "last-modified": "Sat, 01 Jan 2000 00:00:00 GMT", "content-type": "text/plain", "cache-control": "max-age=60, private=set-cookie", "set-cookie": "a=b" };
			await caches.default.put("http://a/1", new Response("0123456789", { headers }));
			await caches.default.put("http://a/2", new Response(new Uint8Array([60, 33]), { headers: { "cache-control": "max-age=60" } }));
			await caches.default.put("http://a/3", new Response("gone", { status: 404, headers: { etag: '"v1"' } }));
			return Response.json([
				await at({}), await at({ range: "bytes=2-4" }), await at({ range: "bytes=-2" }), await at({ range: "bytes=20-" }),
				await at({ range: "bytes=2-4", "if-range": '"v2"' }), await at({ "if-none-match": 'W/"v1"' }), await at({ "if-none-match": '"v2", "v3"' }),
				await at({ "if-modified-since": "Sat, 01 Jan 2000 00:00:00 GMT" }), await at({ "if-modified-since": "Fri, 31 Dec 1999 00:00:00 GMT" }),
				await at({ range: "bytes=0-0" }, "http://a/2"), await at({ "if-none-match": '"x"' }, "http://a/2"), await at({ "if-none-match": '"v1"' }, "http://a/3"),
			].map((line) => JSON.stringify(line)).join("\n"));
		} };`, isolate.Options{}, Options{Cache: NewMemoryCache(1<<20, nil)})
	_, body, err := get(t, i, "/")
	var got string
	if err == nil {
		err = json.Unmarshal([]byte(body), &got)
	}
	const whole = `[200,"0123456789",null,"text/plain","HIT",false]`
	want := strings.Join([]string{
		whole, `[206,"234","bytes 2-4/10","text/plain","HIT",false]`, `[206,"89","bytes 8-9/10","text/plain","HIT",false]`,
		`[416,"invalid range: failed to overlap\n","bytes */10","text/plain; charset=utf-8","HIT",false]`, whole,
		`[304,"",null,null,"HIT",false]`, whole, `[304,"",null,null,"HIT",false]`, whole,
		`[206,"<","bytes 0-0/2",null,"HIT",false]`, `[200,"<!",null,null,"HIT",false]`, `[404,"gone",null,"text/plain;charset=UTF-8","HIT",false]`,
	}, "\n")
	if err != nil || got != want {
		t.Errorf("got\n%s\nwant\n%s\n%v", got, want, err)
	}
}

// A cache has room for so many responses, however small they are, and keeps those of Workers apart.
func TestMemoryCacheCounts(t *testing.T) {
	t.Parallel()
	m := NewMemoryCache(1<<30, nil)
	a, b := m.Of("a"), m.Of("b")
	for n := range MaxCacheEntries + 1 {
		if err := a.Put(t.Context(), "default", strconv.Itoa(n), &http.Response{StatusCode: 200}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		cache Cache
		url   string
		want  bool
	}{{a, "0", false}, {a, "1", true}, {a, "1", false}, {b, "2", false}, {a, strconv.Itoa(MaxCacheEntries), true}} {
		if got, err := tt.cache.Delete(t.Context(), "default", tt.url); got != tt.want || err != nil {
			t.Errorf("%s: got %t %v, want %t", tt.url, got, err, tt.want)
		}
	}
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
