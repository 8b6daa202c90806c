package main

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

	"github.com/HdrHistogram/hdrhistogram-go"
)

// result is what one round of load gave.
type result struct {
	perSecond float64
	p50, p99  time.Duration
	cpu       time.Duration // of the server's processes, per request
	peak      int64         // resident bytes of the server's processes, so far
}

// newHTTPClient returns a client that keeps a connection for each worker.
func newHTTPClient(clients int) *http.Client {
	return &http.Client{
		Timeout:   60 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: clients, MaxConnsPerHost: clients, DisableCompression: true},
	}
}

// runLoad has clients workers call one after another for d, and measures the processes of the server meanwhile.
func runLoad(ctx context.Context, s settings, pids []int, call func(worker int) error) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, s.duration)
	defer cancel()
	histograms := make([]*hdrhistogram.Histogram, s.clients)
	var failure atomic.Pointer[error]
	before, began := cpuTime(pids), time.Now()
	var wg sync.WaitGroup
	for w := range s.clients {
		histograms[w] = newHistogram()
		wg.Go(func() {
			for ctx.Err() == nil && failure.Load() == nil {
				t := time.Now()
				if err := call(w); err != nil {
					failure.CompareAndSwap(nil, &err)
					return
				}
				histograms[w].RecordValue(time.Since(t).Microseconds()) //nolint:errcheck // bounded by the client's timeout
			}
		})
	}
	wg.Wait()
	if err := failure.Load(); err != nil {
		return result{}, *err
	}
	total := newHistogram()
	for _, h := range histograms {
		total.Merge(h)
	}
	return summarize(total, time.Since(began), cpuTime(pids)-before)
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, time.Minute.Microseconds(), 3)
}

// runSwarm has a swarm send requests for d, and measures the processes of the server meanwhile.
func runSwarm(ctx context.Context, s settings, pids []int, load *swarm) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, s.duration)
	defer cancel()
	latency := newHistogram()
	before, began := cpuTime(pids), time.Now()
	if err := load.run(ctx, latency); err != nil {
		return result{}, err
	}
	return summarize(latency, time.Since(began), cpuTime(pids)-before)
}

// summarize turns the latencies of a round, its length and the servers' processor time into its result.
func summarize(total *hdrhistogram.Histogram, took, cpu time.Duration) (result, error) {
	n := total.TotalCount()
	if n == 0 {
		return result{}, errors.New("no request was finished in time")
	}
	return result{
		perSecond: float64(n) / took.Seconds(),
		p50:       time.Duration(total.ValueAtQuantile(50)) * time.Microsecond,
		p99:       time.Duration(total.ValueAtQuantile(99)) * time.Microsecond,
		cpu:       cpu / time.Duration(n),
	}, nil
}

// mcpClient speaks MCP with as little of its own cost as possible.
type mcpClient struct {
	http    *http.Client
	url     string
	token   string
	session string
}

const initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

// post sends one message and returns the response's session and body.
func (c *mcpClient) post(body string) (session, text string, err error) {
	r, err := http.NewRequest("POST", c.url, strings.NewReader(body))
	if err != nil {
		return "", "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", "", err
	}
	if resp.StatusCode/100 != 2 {
		return "", "", fmt.Errorf("%s: %d %s", body, resp.StatusCode, data)
	}
	return resp.Header.Get("Mcp-Session-Id"), string(data), nil
}

// open makes a session.
func (c *mcpClient) open() error {
	session, _, err := c.post(initializeBody)
	if err != nil {
		return err
	}
	c.session = session
	_, _, err = c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return err
}
