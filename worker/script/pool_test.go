package script

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// An event goes to an isolate that computes nothing, whatever waits on it, and otherwise to the one with the fewest events.
func TestPoolChooses(t *testing.T) {
	t.Parallel()
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	s, err := New(t.Context(), Options{
		Bundle:   newBundle(t, `export default { fetch() { console.log("computes"); return new Response(); } };`),
		Isolates: 2,
		OnLog: func(e isolate.Entry) {
			if e.Uncaught == nil {
				close(begun)
				<-end
			}
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := s.pool
	hold := func(want *seat) (release func(), i *isolate.Isolate) {
		t.Helper()
		if got := p.choose(); got != want {
			t.Errorf("the wrong isolate was chosen: one with %d events, want one with %d", got.events, want.events)
		}
		release, i, err := p.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return release, i
	}
	waiting, first := hold(p.seats[0])
	for !first.Idle() {
		runtime.Gosched()
	}
	computing, busy := hold(p.seats[1])
	go func() {
		_, err := webapi.Deliver(t.Context(), busy, httptest.NewRequest(http.MethodGet, "/", nil), webapi.Call{})
		ended <- err
	}()
	<-begun
	second, _ := hold(p.seats[0])
	third, _ := hold(p.seats[0])
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for !busy.Idle() {
		runtime.Gosched() // its loop has still to end the task
	}
	fourth, _ := hold(p.seats[1])
	for _, release := range []func(){waiting, computing, second, third, fourth} {
		release()
	}
}
