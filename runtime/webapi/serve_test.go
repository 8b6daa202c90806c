package webapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/runtime/isolate"
)

func TestFetch(t *testing.T) {
	t.Parallel()
	i := newWorker(t, `
		export default {
			async fetch(request, env, ctx) {
				const url = new URL(request.url);
				switch (url.pathname) {
				case "/hello": return new Response("hello " + url.searchParams.get("name"), { status: 201 });
				case "/echo": return Response.json({ method: request.method, text: await request.text(), type: request.headers.get("Content-Type") });
				case "/undefined": return;
				case "/throw": throw new TypeError("boom");
				case "/pass": return new Response(request.body);
				}
				return new Response(null, { status: 404 });
			},
		};
	`, isolate.Options{}, Options{})
	status, body, err := get(t, i, "/hello?name=you")
	if err != nil || status != 201 || body != "hello you" {
		t.Errorf("hello: %d %q %v", status, body, err)
	}
	in := httptest.NewRequest(http.MethodPost, "http://example.com/echo", strings.NewReader("abc"))
	in.Header.Set("Content-Type", "text/x")
	_, body, err = send(t.Context(), i, in)
	if err != nil || body != `{"method":"POST","text":"abc","type":"text/x"}` {
		t.Errorf("echo: %q %v", body, err)
	}
	if _, _, err = get(t, i, "/undefined"); err == nil || !strings.Contains(err.Error(), notResponseText) {
		t.Errorf("undefined: %v", err)
	}
	if _, _, err = get(t, i, "/throw"); err == nil || err.Error() != "TypeError: boom" {
		t.Errorf("throw: %v", err)
	}
	if status, _, err = get(t, i, "/"); err != nil || status != 404 {
		t.Errorf("missing: %d %v", status, err)
	}
}

func BenchmarkHello(b *testing.B) {
	i := newWorker(b, `export default { fetch() { return new Response("hello world"); } };`, isolate.Options{}, Options{})
	in := httptest.NewRequest(http.MethodGet, "http://example.com/", nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := send(b.Context(), i, in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewIsolate(b *testing.B) {
	p := compileModule(b, `export default { fetch() { return new Response("hello world"); } };`)
	b.ReportAllocs()
	for b.Loop() {
		i, err := isolate.New(b.Context(), p, isolate.Options{Install: []func(*isolate.Isolate) error{Install(Options{})}})
		if err != nil {
			b.Fatal(err)
		}
		i.Close()
	}
}

// The content type of a request counts, though its headers were not looked at.
func TestBodyKindOfIncomingRequest(t *testing.T) {
	t.Parallel()
	i := newWorker(t, `export default { async fetch(request) {
		if (request.method === "PUT") return new Response((await request.blob()).type);
		return new Response((await request.formData()).get("a"));
	} };`, isolate.Options{}, Options{})
	const form = "application/x-www-form-urlencoded"
	for method, want := range map[string]string{"POST": "1", "PUT": form} {
		in := httptest.NewRequest(method, "http://a/", strings.NewReader("a=1"))
		in.Header.Set("Content-Type", form)
		if _, body, err := send(t.Context(), i, in); err != nil || body != want {
			t.Errorf("%s: got %q, %v, want %q", method, body, err, want)
		}
	}
}
