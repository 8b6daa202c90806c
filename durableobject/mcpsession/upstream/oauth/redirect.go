package oauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// closeTimeout is how long the page that ends a sign-in has to get out.
const closeTimeout = 2 * time.Second

// redirect is the loopback server that a browser comes back to from the authorization server.
type redirect struct {
	url    string
	server *http.Server
	served chan struct{}

	mu      sync.Mutex // guards what follows
	state   string     // of the authorization that is waited for
	waiting chan landing
}

// landing is what the browser brought.
type landing struct {
	result  auth.AuthorizationResult
	problem string
}

// listen starts the server.
func listen(port int) (*redirect, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
	if err != nil {
		return nil, upstream.Errorf(upstream.CodeUnavailable, "sign in: listen for the browser on port %d", port)
	}
	r := &redirect{url: "http://" + ln.Addr().String() + "/callback", served: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", r.land)
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() {
		defer close(r.served)
		_ = r.server.Serve(ln) // ends with close
	}()
	return r, nil
}

// close stops the server and waits for it.
func (r *redirect) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := r.server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		_ = r.server.Close()
	}
	<-r.served
}

// expect waits for the browser with a state; any other is turned away.
func (r *redirect) expect(state string) <-chan landing {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.waiting = state, make(chan landing, 1)
	return r.waiting
}

// land takes what the browser brings.
func (r *redirect) land(w http.ResponseWriter, req *http.Request) {
	query := req.URL.Query()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	r.mu.Lock()
	waiting := r.waiting
	if waiting == nil || query.Get("state") != r.state {
		r.mu.Unlock()
		http.Error(w, "No sign-in is waiting for this page.", http.StatusBadRequest)
		return
	}
	r.waiting = nil
	r.mu.Unlock()
	got := landing{problem: problem(query), result: auth.AuthorizationResult{
		Code: query.Get("code"), State: query.Get("state"), Iss: query.Get("iss"),
	}}
	waiting <- got
	if got.problem != "" {
		fmt.Fprint(w, page("Not signed in", "The terminal says why."))
		return
	}
	fmt.Fprint(w, page("Signed in", "You can close this window and go back to the terminal."))
}

// problem returns the error that the authorization server sent the browser back with, or "".
func problem(query url.Values) string {
	kind, description := query.Get("error"), query.Get("error_description")
	switch {
	case kind == "" && query.Get("code") == "":
		return "it sent no code"
	case kind == "":
		return ""
	case description == "":
		return "it answered " + kind
	default:
		return "it answered " + kind + ": " + description
	}
}

func page(title, text string) string {
	return "<!doctype html><html lang=en><title>" + title + "</title><h1>" + title + "</h1><p>" + text + "</p></html>\n"
}
