package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/worker/auth/authtest"
	"github.com/tandem-do/tandem/worker/directory"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// objects answer every request with its path and the props it came with.
type objects struct{}

func (objects) Fetch(_ context.Context, t sidecar.Target, r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(t.Props)),
	}, nil
}

func (objects) Call(context.Context, sidecar.Target, string, []byte) ([]byte, error) {
	return nil, &sidecar.Error{Reason: sidecar.ReasonUnplaced}
}

func TestServe(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "directory.db")
	users, err := directory.Open(t.Context(), dsn) // as the authorization server does
	if err != nil {
		t.Fatal(err)
	}
	defer users.Close()
	u, err := users.CreateUserWithOrganization(t.Context(), directory.NewUser{Email: "ada@example.test"})
	if err != nil {
		t.Fatal(err)
	}
	iss := authtest.NewIssuer(t)
	var log bytes.Buffer
	url := "http://" + l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- serve(ctx, Options{
			Listener: l, PublicURL: url, Issuer: iss.URL, Directory: dsn,
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		}, objects{})
	}()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	token := iss.Token(t, url+"/mcp", map[string]any{"sub": u.AccountID, "org_id": u.OrganizationID})
	for _, tc := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/healthz", "", 200, "ok"},
		{"GET", "/", "", 200, "/mcp"},
		{"GET", "/nope", "", 404, "/.well-known/oauth-protected-resource/mcp"},
		{"GET", "/.well-known/oauth-protected-resource/mcp", "", 200, `"resource":"` + url + `/mcp"`},
		{"GET", "/.well-known/oauth-protected-resource", "", 200, iss.URL},
		{"GET", "/.well-known/oauth-authorization-server", "", 200, "token_endpoint"},
		{"GET", "/api/policies", "", 503, "restarting"},
		{"GET", "/approve/exec_1", "", 404, "No such call"},
		{"GET", "/auth/client.json", "", 200, url + "/auth/callback"},
		{"GET", "/auth/callback?state=x", "", 400, "Not signed in"},
		{"POST", "/auth/signin", "", 405, "GET"},
		{"DELETE", "/api/policies/pol_1", `{"owner":"org"}`, 503, "restarting"},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, 200, `"organizationName":"ada's organization"`},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, url+tc.path, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{
			"Authorization": {"Bearer " + token}, "Accept": {"application/json, text/event-stream"},
			"Content-Type": {"application/json"},
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != tc.status || !strings.Contains(string(body), tc.want) {
			t.Errorf("%s %s: got %d %s, %v; want %d with %q", tc.method, tc.path, resp.StatusCode, body, err, tc.status, tc.want)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), token[:40]) || strings.Contains(log.String(), token[len(token)-40:]) {
		t.Errorf("the log holds the token: %s", &log)
	}
}

func TestServeRefuses(t *testing.T) {
	t.Parallel()
	err := Serve(t.Context(), Options{
		PublicURL: "nonsense", Issuer: "nonsense", AllowedHosts: []string{"a/b"}, AllowedOrigins: []string{"x"},
		WebClientSecret: "hush",
	})
	for _, want := range []string{
		"listener", "router", "directory", "web client ID", "public URL", "issuer", `allowed host "a/b"`, `allowed origin "x"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name the %s", err, want)
		}
	}
}

func TestServeRefusesABadDirectory(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := grpc.NewClient("passthrough:///none", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = serve(t.Context(), Options{
		Listener: l, PublicURL: "http://127.0.0.1:1", Issuer: "http://127.0.0.1:2", Directory: "mysql://x", Router: conn,
	}, objects{})
	if !errors.Is(err, directory.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
