package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// Signing in takes the server's URL alone, and what comes of it is all that calls need.
func TestSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	signedIn := w.mustSignIn()
	stored, err := json.Marshal(signedIn)
	if err != nil {
		t.Fatal(err)
	}
	var c Credentials
	if err := json.Unmarshal(stored, &c); err != nil {
		t.Fatal(err)
	}
	want := Credentials{
		AccessToken: "access-1", RefreshToken: "refresh-1", ClientID: "registered", ClientSecret: "client-secret",
		ClientAuth: ClientAuthBasic, TokenEndpoint: w.issuer + "/token", Resource: w.url,
		Scopes: []string{"offline_access", "tools"}, Expiry: c.Expiry,
	}
	if got, _ := json.Marshal(want); string(got) != string(stored) || time.Until(c.Expiry) < 50*time.Minute {
		t.Errorf("got %s, want %s", stored, got)
	}
	if _, err := w.connect(Options{Credentials: c}).Call(t.Context(), "work", nil); err != nil {
		t.Errorf("call: %v", err)
	}
	for _, shown := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), c.LogValue().String()} {
		if strings.Contains(shown, "access-1") || strings.Contains(shown, "secret") {
			t.Errorf("the credentials show as %s", shown)
		}
	}
}

// A call that needs more says so, and a sign-in with its challenge asks for that beside what was granted.
func TestStepUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.mustSignIn()
	w.set(func() { w.needs = "admin" })
	_, err := w.connect(Options{Credentials: c}).Call(t.Context(), "work", nil)
	if message := wantCode(t, err, upstream.CodeUnauthorized); !strings.Contains(message, `"admin"`) {
		t.Errorf("got %q", message)
	}
	challenge := Challenge(err)
	if challenge == "" {
		t.Fatal("the error has no challenge")
	}
	c, err = w.signIn(func(o *SignInOptions) { o.Challenge, o.Scopes = challenge, c.Scopes })
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"admin", "offline_access", "tools"}; !slices.Equal(c.Scopes, want) {
		t.Errorf("got scopes %q, want %q", c.Scopes, want)
	}
	if _, err := w.connect(Options{Credentials: c}).Call(t.Context(), "work", nil); err != nil {
		t.Errorf("call: %v", err)
	}
	if n := len(w.asked); n != 2 {
		t.Errorf("somebody was asked %d times, want twice", n)
	}
	if Challenge(errors.New("other")) != "" || Challenge(nil) != "" {
		t.Error("a challenge in another error")
	}
}

// Whatever keeps a person from signing in is said, and nobody is asked twice.
func TestSignInFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		world  func(*world)
		change func(*SignInOptions)
		want   string
		asked  int
	}{
		{"denied", func(w *world) { w.deny = "access_denied" }, nil, "access_denied", 1},
		{"no browser", nil, func(o *SignInOptions) {
			o.OpenBrowser = func(string) error { return errors.New("no display") }
		}, "the browser could not be opened", 0},
		{"token endpoint down", func(w *world) { w.down = true }, nil, "503", 1},
		{"another authorization server", nil, func(o *SignInOptions) {
			o.ClientID, o.ClientIssuer = "byhand", "https://elsewhere.example"
		}, "does not match", 0},
		{"wrong issuer", func(w *world) { w.iss = "https://elsewhere.example" }, nil, "does not match expected issuer", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if tt.world != nil {
				w.set(func() { tt.world(w) })
			}
			_, err := w.signIn(tt.change)
			var e *upstream.Error
			if !errors.As(err, &e) || e.Code != upstream.CodeUnauthorized || !strings.Contains(e.Message, tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if len(w.asked) != tt.asked {
				t.Errorf("somebody was asked %d times, want %d", len(w.asked), tt.asked)
			}
		})
	}
}

// The browser of somebody else, or a page that guesses, does not end a sign-in.
func TestStrayRedirects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.signIn(func(o *SignInOptions) {
		o.OpenBrowser = func(address string) error {
			parsed, err := url.Parse(address)
			if err != nil {
				return err
			}
			stray := parsed.Query().Get("redirect_uri") + "?state=guessed&code=theirs"
			resp, err := w.http.Get(stray)
			if err != nil {
				return err
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("a stray redirect was answered with %d", resp.StatusCode)
			}
			return w.browser(address)
		}
	})
	if err != nil {
		t.Errorf("sign in: %v", err)
	}
}

// A sign-in ends with its context, and a server that wants none says so.
func TestSignInEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := SignIn(ctx, SignInOptions{ServerURL: w.url, HTTP: w.http, OpenBrowser: func(string) error {
		cancel()
		return nil
	}})
	wantCode(t, err, upstream.CodeUnauthorized)

	open := mcp.NewServer(&mcp.Implementation{Name: "open", Version: "1"}, nil)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return open },
		&mcp.StreamableHTTPOptions{Stateless: true}))
	defer web.Close()
	_, err = SignIn(t.Context(), SignInOptions{ServerURL: web.URL, HTTP: w.http, OpenBrowser: w.browser})
	if message := wantCode(t, err, upstream.CodeUnauthorized); !strings.Contains(message, "does not ask") {
		t.Errorf("got %q", message)
	}
}

// What servers write reaches a terminal as one line without control characters.
func TestPrintable(t *testing.T) {
	t.Parallel()
	if got := printable("a\x1b[2Jb\r\n\tc"); got != "a [2Jb c" {
		t.Errorf("got %q", got)
	}
	if got := printable(strings.Repeat("ä", maxReasonBytes)); len(got) > maxReasonBytes+len("…") {
		t.Errorf("got %d bytes", len(got))
	}
}
