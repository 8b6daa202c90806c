package mcpclient

import (
	"context"
	"sync"
)

// exchange is what the HTTP layer learns about one operation and the SDK does not tell: how the server has answered, and
// how much. It travels in the context of the operation's requests.
type exchange struct {
	limit  int64
	cancel context.CancelCauseFunc

	mu        sync.Mutex // guards all below
	done      bool       // the operation is over; what its context still carries is not its own
	accepted  bool       // a request may have reached the server, and was not refused for its session
	status    int        // of the last answer
	mediaType string     // of the last answer
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

// answered notes an answer. refused says that the server has not acted on the request.
func (x *exchange) answered(status int, mediaType string, refused bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status, x.mediaType = status, mediaType
	if refused {
		x.accepted = false
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
	refusal   int
	challenge string
	tooLarge  bool
}

func (x *exchange) outcome() outcome {
	x.mu.Lock()
	defer x.mu.Unlock()
	return outcome{x.accepted, x.status, x.mediaType, x.refusal, x.challenge, x.tooLarge}
}
