package webapi

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// helloModule is what e2e/bench measures as hello world.
const helloModule = `export default { async fetch(request, env) {
	const [, kind, name, action] = new URL(request.url).pathname.split("/");
	if (kind === "hello") return Response.json(1);
	return new Response("not found", { status: 404 });
} };`

// jsonModule is a small API: it reads headers and a query, and answers with an object and headers.
const jsonModule = `export default { async fetch(request, env, ctx) {
	const url = new URL(request.url);
	const name = url.searchParams.get("name") ?? "nobody";
	const agent = request.headers.get("user-agent");
	return new Response(JSON.stringify({ name, agent, method: request.method }), {
		headers: { "content-type": "application/json", "cache-control": "no-store" },
	});
} };`

// benchRequest is what the benchmarks' handlers get.
func benchRequest() *http.Request {
	return &http.Request{
		Method: "GET", URL: &url.URL{Path: "/hello/", RawQuery: "name=x"}, RequestURI: "/hello/?name=x",
		Host: "example.com", Header: http.Header{"User-Agent": {"bench"}}, Body: http.NoBody,
	}
}

// An event takes no more memory than it did; most of what it takes is the engine's.
func TestDeliverAllocates(t *testing.T) {
	const most = 110
	i := newWorker(t, helloModule, isolate.Options{}, Options{})
	in := benchRequest()
	got := testing.AllocsPerRun(100, func() {
		if _, err := Deliver(t.Context(), i, in, Call{}); err != nil {
			t.Fatal(err)
		}
	})
	if got > most {
		t.Errorf("a request makes %.0f allocations, at most %d are allowed", got, most)
	}
}

// BenchmarkDeliver is one event of a stateless Worker without HTTP.
func BenchmarkDeliver(b *testing.B) {
	for name, code := range map[string]string{
		"hello": helloModule,
		"plain": `export default { fetch() { return new Response("hello"); } };`,
		"json":  jsonModule,
	} {
		b.Run(name, func(b *testing.B) {
			i := newWorker(b, code, isolate.Options{}, Options{})
			in := benchRequest()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Deliver(b.Context(), i, in, Call{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
