package soak

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Options say what runs.
type Options struct {
	// URL is the MCP endpoint.
	URL string
	// Tokens are the bearer tokens of one account of each organization.
	Tokens []string
	// Sessions is how many sessions there are in all. The first organization has half of them, the others share the rest:
	// a fair queue gives each organization its turn, however many sessions it has.
	Sessions int
	// Duration is for how long they execute.
	Duration time.Duration
	// Code is the program, Want the JSON of its result.
	Code, Want string
}

// Organization is what one organization's sessions saw.
type Organization struct {
	// Sessions is how many it has, Executions how many ended well in time: what waits at the end is left out, so that the
	// numbers of organizations can be compared.
	Sessions   int
	Executions int64
	// P50, P99 and Max are the times from request to result.
	P50, P99, Max time.Duration
	// Errors are the first errors, Failed how many there were.
	Errors []error
	Failed int64
}

// clientTimeout bounds one request.
const clientTimeout = 3 * time.Minute

// maxErrors is how many errors of an organization are kept.
const maxErrors = 3

// tally is an Organization in the making.
type tally struct {
	mu      sync.Mutex // guards all that follows
	latency *hdrhistogram.Histogram
	errors  []error
	failed  int64
	inTime  int64
}

func (t *tally) note(took time.Duration, inTime bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && inTime {
		t.inTime++
	}
	if err == nil {
		_ = t.latency.RecordValue(took.Microseconds()) // bounded by the client's timeout
		return
	}
	t.failed++
	if len(t.errors) < maxErrors {
		t.errors = append(t.errors, err)
	}
}

// Run opens the sessions, has each execute one program after another, and ends them. It fails when a session cannot be
// opened or ended; programs that fail are in the result.
func Run(ctx context.Context, o Options) ([]Organization, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: o.Sessions, DisableCompression: true}
	defer transport.CloseIdleConnections()
	shared := &http.Client{Timeout: clientTimeout, Transport: transport}
	clients, owners := make([]*client, o.Sessions), make([]int, o.Sessions)
	result := make([]Organization, len(o.Tokens))
	tallies := make([]*tally, len(o.Tokens))
	for i := range tallies {
		tallies[i] = &tally{latency: hdrhistogram.New(1, clientTimeout.Microseconds(), 3)}
	}
	for i := range clients {
		if others := len(o.Tokens) - 1; others > 0 && i >= o.Sessions/2 {
			owners[i] = 1 + i%others
		}
		clients[i] = &client{http: shared, url: o.URL, token: o.Tokens[owners[i]]}
		result[owners[i]].Sessions++
	}
	if err := each(clients, (*client).open); err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	until, cancel := context.WithTimeout(ctx, o.Duration)
	defer cancel()
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() {
			for until.Err() == nil {
				began := time.Now()
				err := c.execute(o.Code, o.Want)
				tallies[owners[i]].note(time.Since(began), until.Err() == nil, err)
			}
		})
	}
	all.Wait()
	if err := each(clients, (*client).end); err != nil {
		return nil, fmt.Errorf("end a session: %w", err)
	}
	for i, t := range tallies {
		r := &result[i]
		r.Executions, r.Errors, r.Failed = t.inTime, t.errors, t.failed
		r.P50, r.P99 = at(t.latency, 50), at(t.latency, 99)
		r.Max = time.Duration(t.latency.Max()) * time.Microsecond
	}
	return result, ctx.Err()
}

func at(h *hdrhistogram.Histogram, percentile float64) time.Duration {
	return time.Duration(h.ValueAtQuantile(percentile)) * time.Microsecond
}

// each does something with all clients, some at a time.
func each(clients []*client, do func(*client) error) error {
	const atOnce = 16
	errs := make([]error, len(clients))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, c := range clients {
		slots <- struct{}{}
		all.Go(func() {
			errs[i] = do(c)
			<-slots
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
