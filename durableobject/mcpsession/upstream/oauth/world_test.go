package oauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/mcpclient"
	"github.com/tandem-do/tandem/proto/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// world is an MCP server with an authorization server of its own.
type world struct {
	t      *testing.T
	url    string // of the MCP endpoint
	issuer string
	http   *http.Client

	mu       sync.Mutex // guards what follows
	codes    map[string]url.Values
	refresh  string // the refresh token that is good, once
	access   string // the access token that is good
	scopes   []string
	lifetime time.Duration // of access tokens; 0 means that none is said
	needs    string        // the scope that the tool needs
	deny     string        // the error that the authorization endpoint answers with
	iss      string        // the issuer that the redirect names, instead of the true one
	down     bool          // the token endpoint answers 503
	issued   int
	forms    []url.Values // of the token endpoint
	asked    []url.Values // of the authorization endpoint
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, codes: map[string]url.Values{}, lifetime: time.Hour}
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "work", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	protected := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	mux.Handle("/mcp", w.guard(protected))
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(rw http.ResponseWriter, _ *http.Request) {
		answer(rw, http.StatusOK, map[string]any{
			"resource": w.url, "authorization_servers": []string{w.issuer}, "scopes_supported": []string{"tools"},
		})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(rw http.ResponseWriter, _ *http.Request) {
		answer(rw, http.StatusOK, map[string]any{
			"issuer": w.issuer, "authorization_endpoint": w.issuer + "/authorize", "token_endpoint": w.issuer + "/token",
			"registration_endpoint": w.issuer + "/register", "code_challenge_methods_supported": []string{"S256"},
			"scopes_supported": []string{"tools", "admin", "offline_access"}, "response_types_supported": []string{"code"},
			"authorization_response_iss_parameter_supported": true,
		})
	})
	mux.HandleFunc("/register", func(rw http.ResponseWriter, r *http.Request) {
		var meta map[string]any
		_ = json.NewDecoder(r.Body).Decode(&meta)
		meta["client_id"], meta["client_secret"] = "registered", "client-secret"
		meta["token_endpoint_auth_method"] = "client_secret_basic"
		answer(rw, http.StatusCreated, meta)
	})
	mux.HandleFunc("/authorize", w.authorize)
	mux.HandleFunc("/token", w.token)
	web := httptest.NewServer(mux)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		web.CloseClientConnections()
		web.Close()
	})
	w.url, w.issuer, w.http = web.URL+"/mcp", web.URL, &http.Client{Transport: transport}
	return w
}

func answer(rw http.ResponseWriter, status int, body any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(body)
}

// guard lets the good access token pass, and calls of the tool if its scope covers them.
func (w *world) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		good := w.access != "" && r.Header.Get("Authorization") == "Bearer "+w.access
		short := w.needs != "" && !strings.Contains(" "+strings.Join(w.scopes, " ")+" ", " "+w.needs+" ")
		needs := w.needs
		w.mu.Unlock()
		metadata := fmt.Sprintf(`resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, w.issuer)
		switch {
		case !good:
			rw.Header().Set("WWW-Authenticate", "Bearer "+metadata)
			rw.WriteHeader(http.StatusUnauthorized)
		case short && r.Header.Get("Mcp-Method") == "tools/call":
			rw.Header().Set("WWW-Authenticate",
				fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q, %s`, needs, metadata))
			rw.WriteHeader(http.StatusForbidden)
		default:
			next.ServeHTTP(rw, r)
		}
	})
}

func (w *world) authorize(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	query := r.URL.Query()
	w.asked = append(w.asked, query)
	back := url.Values{"state": {query.Get("state")}, "iss": {cmp.Or(w.iss, w.issuer)}}
	if w.deny != "" {
		back.Set("error", w.deny)
	} else {
		code := fmt.Sprint("code-", len(w.asked))
		w.codes[code] = query
		back.Set("code", code)
	}
	http.Redirect(rw, r, query.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (w *world) token(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = r.ParseForm()
	w.forms = append(w.forms, r.Form)
	if w.down {
		rw.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(rw, "secret internals")
		return
	}
	if id, secret, _ := r.BasicAuth(); id != "registered" || secret != "client-secret" {
		answer(rw, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	fault := ""
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		asked, ok := w.codes[r.Form.Get("code")]
		delete(w.codes, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") ||
			asked.Get("redirect_uri") != r.Form.Get("redirect_uri") || asked.Get("resource") != w.url {
			fault = "invalid_grant"
		}
		w.scopes = strings.Fields(asked.Get("scope"))
	case "refresh_token":
		if r.Form.Get("refresh_token") != w.refresh {
			fault = "invalid_grant"
		}
	default:
		fault = "unsupported_grant_type"
	}
	if r.Form.Get("resource") != w.url {
		fault = "invalid_target"
	}
	if fault != "" {
		answer(rw, http.StatusBadRequest, map[string]any{"error": fault, "error_description": "secret internals"})
		return
	}
	w.issued++
	w.access, w.refresh = fmt.Sprint("access-", w.issued), fmt.Sprint("refresh-", w.issued)
	body := map[string]any{
		"access_token": w.access, "token_type": "Bearer", "refresh_token": w.refresh, "scope": strings.Join(w.scopes, " "),
	}
	if w.lifetime > 0 {
		body["expires_in"] = int(w.lifetime.Seconds())
	}
	answer(rw, http.StatusOK, body)
}

// set changes the world.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// browser follows redirects to the end.
func (w *world) browser(address string) error {
	resp, err := w.http.Get(address)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// signIn signs in with options that change may add to.
func (w *world) signIn(change func(*SignInOptions)) (Credentials, error) {
	o := SignInOptions{ServerURL: w.url, HTTP: w.http, OpenBrowser: w.browser, Version: "1"}
	if change != nil {
		change(&o)
	}
	return SignIn(w.t.Context(), o)
}

// mustSignIn signs in.
func (w *world) mustSignIn() Credentials {
	w.t.Helper()
	c, err := w.signIn(nil)
	if err != nil {
		w.t.Fatalf("sign in: %v", err)
	}
	return c
}

// connect connects with credentials.
func (w *world) connect(o Options) upstream.Source {
	w.t.Helper()
	o.HTTP = w.http
	source, err := mcpclient.Connect(w.t.Context(), mcpclient.Options{URL: w.url, HTTP: w.http, OAuth: New(o)})
	if err != nil {
		w.t.Fatalf("connect: %v", err)
	}
	w.t.Cleanup(func() { _ = source.Close() })
	return source
}

// wantCode fails the test unless err is an *upstream.Error with the code that holds no secret, and returns its message.
func wantCode(t *testing.T, err error, code string) string {
	t.Helper()
	var e *upstream.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got error %v, want code %s", err, code)
	}
	for _, secret := range []string{"secret", "access-", "refresh-", "code-"} {
		if strings.Contains(e.Message+string(e.Details), secret) {
			t.Errorf("the error holds %q: %s %s", secret, e.Message, e.Details)
		}
	}
	return e.Message
}
