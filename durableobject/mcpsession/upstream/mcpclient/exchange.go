package mcpclient

import (
	"context"
	"net/http"
	"sync"
)

// exchange is what the HTTP layer learns about one operation and the SDK does not tell: how the server has answered, and
// how much. It travels in the context of the operation's requests.
type exchange struct {
	limit  int64
	cancel context.CancelCauseFunc

	mu        sync.Mutex // guards all below
	done      bool       // the operation is over; what its context still carries is not its own
	accepted  bool       // the server may have acted on a request
	status    int        // of the last answer
	mediaType string     // of the last answer
	lost      bool       // the server does not know the session
	refusal   int        // 401 or 403, if the server refused credentials and did nothing since
	challenge string     // of that refusal
	read      int64      // bytes of answers
	tooLarge  bool
}

type exchangeKey struct{}

// exchangeOf returns the exchange that a request belongs to, or nil.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	if x == nil || !x.isOpen() {
		return nil
	}
	return x
}

func (x *exchange) isOpen() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.done
}

func (x *exchange) finish() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.done = true
}

// sending notes that a request is on its way.
func (x *exchange) sending() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.accepted, x.status, x.mediaType = true, 0, ""
}

// answered notes an answer. lost says that the server does not know the session.
func (x *exchange) answered(status int, mediaType string, lost bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status, x.mediaType, x.lost = status, mediaType, lost
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		x.accepted = false
	default: // it may have acted on the request, even where it tells of an error
	}
	if status < 300 {
		x.refusal, x.challenge = 0, ""
	}
}

// challenged notes that credentials were refused. What the SDK tries next may fail for reasons that say less.
func (x *exchange) challenged(status int, challenge string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refusal, x.challenge = status, challenge
}

func (x *exchange) wasAccepted() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.accepted
}

// room counts n bytes and tells whether they are within the limit; if they are not, the operation ends.
func (x *exchange) room(n int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done {
		return true
	}
	x.read += int64(n)
	if x.read <= x.limit {
		return true
	}
	x.tooLarge = true
	x.cancel(errTooLarge)
	return false
}

// outcome is what was learnt.
type outcome struct {
	accepted  bool
	status    int
	mediaType string
	lost      bool
	refusal   int
	challenge string
	tooLarge  bool
}

func (x *exchange) outcome() outcome {
	x.mu.Lock()
	defer x.mu.Unlock()
	return outcome{x.accepted, x.status, x.mediaType, x.lost, x.refusal, x.challenge, x.tooLarge}
}

// answeredJSON tells whether the last answer may have held an answer by JSON-RPC.
func (o outcome) answeredJSON() bool {
	return o.status != 0 && (o.status < http.StatusBadRequest || o.mediaType == "application/json")
}
