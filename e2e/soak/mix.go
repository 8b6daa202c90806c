package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// MixOptions say what requests are sent to the project `growth` of the end-to-end tests.
type MixOptions struct {
	// URL is the Worker's origin.
	URL string
	// First is the number of the first request, Requests how many there are. A number decides what is asked for; each
	// thousandth makes an object that no other asks for.
	First, Requests int
	// Connections is how many clients send them.
	Connections int
}

// mixRooms is how many objects and notes the requests share.
const mixRooms = 50

// Mix sends requests of many kinds, one after another from each client: text and JSON, calls of objects, notes in KV,
// errors, new objects, and clients that go before the answer has come, or in the midst of it. It fails with the first
// answer that is not as it should be.
func Mix(ctx context.Context, o MixOptions) error {
	transport := &http.Transport{MaxIdleConnsPerHost: o.Connections, DisableCompression: true}
	defer transport.CloseIdleConnections()
	m := &mixer{url: o.URL, http: &http.Client{Timeout: clientTimeout, Transport: transport}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range o.Connections {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= o.Requests {
					return
				}
				if err := m.request(ctx, o.First+i); err != nil {
					cancel(fmt.Errorf("request %d: %w", o.First+i, err))
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// mixer sends the requests.
type mixer struct {
	url  string
	http *http.Client
}

// request sends request i.
func (m *mixer) request(ctx context.Context, i int) error {
	room := fmt.Sprint("room-", i/10%mixRooms)
	switch {
	case i%1000 == 0:
		return m.want(ctx, http.MethodGet, fmt.Sprint("/keep/new-", i), "", http.StatusOK, "1")
	case i%100 == 1:
		return m.want(ctx, http.MethodGet, "/error", "", http.StatusInternalServerError, "")
	case i%100 == 2:
		return m.want(ctx, http.MethodGet, "/room-error/"+room, "", http.StatusInternalServerError, "")
	case i%200 == 3:
		return m.leave(ctx, "/slow", 5*time.Millisecond)
	case i%200 == 103:
		return m.leave(ctx, "/endless", 5*time.Millisecond)
	case i%100 == 4:
		return m.want(ctx, http.MethodGet, "/nowhere", "", http.StatusNotFound, "404 Not Found")
	case i%100 == 5:
		return m.want(ctx, http.MethodPost, "/note/"+room, "text of "+room, http.StatusNoContent, "")
	}
	switch i % 10 {
	case 5:
		return m.want(ctx, http.MethodGet, "/note/"+room, "", http.StatusOK, "")
	case 6:
		return m.want(ctx, http.MethodGet, "/visit/"+room, "", http.StatusOK, "")
	case 7:
		return m.want(ctx, http.MethodGet, "/keep/"+room, "", http.StatusOK, "")
	case 8:
		return m.want(ctx, http.MethodPost, "/room/"+room, "somebody", http.StatusOK, "")
	case 9:
		return m.want(ctx, http.MethodGet, "/json/7", "", http.StatusOK, `{"id":7,"tags":["a","b"],"done":false}`)
	}
	return m.want(ctx, http.MethodGet, "/", "", http.StatusOK, "hello")
}

// want sends a request and checks the answer's status, and its body if one is given.
func (m *mixer) want(ctx context.Context, method, path, body string, status int, want string) error {
	resp, err := m.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, path, err)
	case resp.StatusCode != status, want != "" && string(text) != want:
		return fmt.Errorf("%s %s: got %d %.200q, want %d %q", method, path, resp.StatusCode, text, status, want)
	}
	return nil
}

// leave sends a request and goes after a while, whatever has come.
func (m *mixer) leave(ctx context.Context, path string, after time.Duration) error {
	gone, cancel := context.WithTimeout(ctx, after)
	defer cancel()
	resp, err := m.send(gone, http.MethodGet, path, "")
	if err == nil {
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

func (m *mixer) send(ctx context.Context, method, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, m.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return m.http.Do(r)
}
