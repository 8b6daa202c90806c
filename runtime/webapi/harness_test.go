package webapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/runtime/isolate"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// compileModule compiles an ES module as a bundler would hand it over.
func compileModule(t testing.TB, code string) *isolate.Program {
	t.Helper()
	r := api.Build(api.BuildOptions{
		Stdin:     &api.StdinOptions{Contents: code, Sourcefile: "src/index.js", Loader: api.LoaderTS},
		Bundle:    true,
		Format:    api.FormatESModule,
		Target:    api.ESNext,
		Charset:   api.CharsetUTF8,
		Sourcemap: api.SourceMapExternal,
		Outfile:   "/out.js",
		Banner:    map[string]string{"js": isolate.ModuleBanner},
		LogLevel:  api.LogLevelSilent,
		Supported: map[string]bool{
			"async-generator": false, "for-await": false, "class-field": false, "class-static-field": false, "using": false,
		},
	})
	if len(r.Errors) > 0 {
		t.Fatal(r.Errors[0].Text, r.Errors[0].Location)
	}
	src := isolate.Source{Name: "index.js"}
	for _, f := range r.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			src.SourceMap = f.Contents
		} else {
			src.Code = isolate.WrapModule(string(f.Contents))
		}
	}
	p, err := isolate.Compile(src)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newWorker runs a module with the web platform.
func newWorker(t testing.TB, code string, o isolate.Options, web Options) *isolate.Isolate {
	t.Helper()
	o.Install = append([]func(*isolate.Isolate) error{Install(web)}, o.Install...)
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	if o.Compatibility.Date == "" {
		o.Compatibility.Date = "2026-04-01"
	}
	i, err := isolate.New(t.Context(), compileModule(t, code), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

// get sends a GET and returns status and body.
func get(t testing.TB, i *isolate.Isolate, path string) (int, string, error) {
	t.Helper()
	return send(t.Context(), i, httptest.NewRequest(http.MethodGet, "http://example.com"+path, nil))
}

func send(ctx context.Context, i *isolate.Isolate, in *http.Request) (int, string, error) {
	resp, err := Fetch(ctx, i, in, Call{})
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}
