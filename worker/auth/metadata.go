package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// relayTTL is how long the authorization server's document is served without asking again.
const relayTTL = time.Minute

// resourceMetadata is the document of RFC 9728.
type resourceMetadata struct {
	Resource               string   `json:"resource"`
	AuthorizationServers   []string `json:"authorization_servers"`
	BearerMethodsSupported []string `json:"bearer_methods_supported"`
	ScopesSupported        []string `json:"scopes_supported"`
	ResourceName           string   `json:"resource_name"`
}

// ResourceMetadata serves the protected resource's metadata.
func (g *Gate) ResourceMetadata() http.Handler {
	return document(func(r *http.Request) (any, error) {
		return resourceMetadata{
			Resource:               g.Resource(r),
			AuthorizationServers:   []string{g.issuer.id},
			BearerMethodsSupported: []string{"header"},
			ScopesSupported:        []string{"openid", "profile", "email", "offline_access"},
			ResourceName:           "tandem",
		}, nil
	})
}

// ServerMetadata relays the authorization server's metadata, for clients that look for it at the resource.
func (g *Gate) ServerMetadata() http.Handler {
	return document(func(r *http.Request) (any, error) {
		return g.relay.get(r.Context())
	})
}

// relay keeps the authorization server's document for a short time.
type relay struct {
	issuer  *issuer
	flights singleflight.Group

	mu    sync.Mutex // guards doc and until
	doc   json.RawMessage
	until time.Time
}

// get returns the document. Those who ask at once share one fetch.
func (l *relay) get(ctx context.Context) (json.RawMessage, error) {
	l.mu.Lock()
	doc, until := l.doc, l.until
	l.mu.Unlock()
	if time.Now().Before(until) {
		return doc, nil
	}
	shared := context.WithoutCancel(ctx)
	v, err, _ := l.flights.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeout(shared, fetchTimeout)
		defer cancel()
		body, err := l.issuer.metadata(ctx, l.issuer.oauth, l.issuer.openID)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.doc, l.until = body, time.Now().Add(relayTTL)
		return l.doc, nil
	})
	if err != nil {
		return nil, err
	}
	doc, ok := v.(json.RawMessage)
	if !ok {
		return nil, errors.New("relay: no document")
	}
	return doc, nil
}

// document serves a public JSON document to any origin: GET, HEAD and the preflight of a browser.
func document(get func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		switch r.Method {
		case http.MethodGet, http.MethodHead:
		case http.MethodOptions:
			h.Set("Access-Control-Allow-Methods", "GET, OPTIONS")
			h.Set("Access-Control-Allow-Headers", "content-type, authorization, mcp-protocol-version")
			w.WriteHeader(http.StatusNoContent)
			return
		default:
			h.Set("Allow", "GET, HEAD, OPTIONS")
			writeDocument(w, http.StatusMethodNotAllowed, map[string]string{"error": "method_not_allowed"})
			return
		}
		doc, err := get(r)
		if err != nil {
			writeDocument(w, http.StatusBadGateway, map[string]string{"error": "upstream_error"})
			return
		}
		writeDocument(w, http.StatusOK, doc)
	})
}

func writeDocument(w http.ResponseWriter, status int, doc any) {
	body, err := json.Marshal(doc)
	if err != nil { // an upstream document is parsed before it gets here, ours hold strings
		status, body = http.StatusBadGateway, []byte(`{"error":"upstream_error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}
