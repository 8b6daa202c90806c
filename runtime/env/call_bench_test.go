package env_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/env"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// callModule is the Worker of e2e/bench, as the build makes it, with the same over fetch.
const callModule = `(function (host) {
	const worker = { async fetch(request, env) {
		const [, kind, name, action] = new URL(request.url).pathname.split("/");
		if (kind === "hello") return Response.json(1);
		const stub = env.COUNTER.get(env.COUNTER.idFromName(name));
		if (kind === "ping") return Response.json(await stub.ping());
		if (kind === "fetch") return stub.fetch(request);
		return new Response("not found", { status: 404 });
	} };
	return { default: worker };
})`

// answers is an object that has answered before it is called.
type answers struct{ value []byte }

func (a *answers) Call(context.Context, sidecar.Target, string, []byte) ([]byte, error) {
	return a.value, nil
}

func (a *answers) Fetch(context.Context, sidecar.Target, *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Status: "200 OK", Header: http.Header{"Content-Type": {"text/plain"}},
		Body: io.NopCloser(strings.NewReader("1")), ContentLength: 1,
	}, nil
}

// BenchmarkCall is what a call of an object costs the caller's isolate, with the request that makes it.
func BenchmarkCall(b *testing.B) {
	value, err := v8value.Marshal(json.Number("7"))
	if err != nil {
		b.Fatal(err)
	}
	program, err := isolate.Compile(isolate.Source{Name: "worker.js", Code: callModule})
	if err != nil {
		b.Fatal(err)
	}
	manifest := &bundle.Manifest{
		Name: "w", CompatibilityDate: "2026-08-20",
		DurableObjects: []bundle.DurableObject{{Binding: "COUNTER", Class: "Counter", Script: "w"}},
	}
	caller := &answers{value: value}
	o := env.Options{
		Manifest:  manifest,
		Namespace: func(key string) *binding.Namespace { return binding.NewNamespace(key, caller) },
	}
	i, err := isolate.New(b.Context(), program, o.Isolate(webapi.Options{}))
	if err != nil {
		b.Fatal(err)
	}
	defer i.Close()
	for _, path := range []string{"/hello/x", "/none/x", "/ping/x", "/fetch/x"} {
		b.Run(strings.Trim(path, "/x"), func(b *testing.B) {
			in, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://example.com"+path, http.NoBody)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				resp, err := webapi.Fetch(b.Context(), i, in, webapi.Call{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpuTime is the processor time of the process so far, which says more than time on a machine that others use.
func cpuTime(b *testing.B) int64 {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return r.Utime.Nano() + r.Stime.Nano()
}
