package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// attackers is how many hostile programs run at once.
	attackers = 4
	// probeEvery is the time between two probes of one kind.
	probeEvery = 20 * time.Millisecond
)

// benchHostile runs every hostile program, some at once, and measures meanwhile what another organization gets: its
// executions, and its calls of an object on the same host.
func benchHostile(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		programs, err := readPrograms(s.programs)
		if err != nil {
			return err
		}
		stack := startStack(t, fmt.Sprintf("TANDEM_SANDBOX_PROCESSES=%d", s.processes))
		ready := stack.MustReady(t)
		victim := mcpClient{http: newHTTPClient(4), url: ready.MCPURL, token: stack.NewIdentity(t).Token}
		if err := errors.Join(victim.open(), victim.execute("return 1")); err != nil {
			return err
		}
		quiet, cancel := context.WithTimeout(ctx, s.duration)
		defer cancel()
		if err := probe(quiet, "without an attack", victim); err != nil {
			return err
		}
		attacked, end := context.WithCancel(ctx)
		defer end()
		probed := make(chan error, 1)
		go func() { probed <- probe(attacked, "during the attack", victim) }()
		patient := newHTTPClient(attackers)
		patient.Timeout = 6 * time.Minute // longer than a program may take
		attacker := mcpClient{http: patient, url: ready.MCPURL, token: stack.NewIdentity(t).Token}
		err = attack(attacker, programs)
		end()
		err = errors.Join(err, <-probed)
		now, _ := stack.Ready()
		for _, name := range []string{"worker", "durableobject", "sandbox", "router"} {
			if now.PIDs[name] != ready.PIDs[name] {
				err = errors.Join(err, fmt.Errorf("the process %s ended", name))
			}
		}
		return err
	})
}

// readPrograms reads lines of a name, a bar and a program.
func readPrograms(path string) (programs [][2]string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, code, ok := strings.Cut(lines.Text(), " | ")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if !strings.Contains(code, ";") && !strings.HasPrefix(code, "while") {
			code = "return " + code
		}
		programs = append(programs, [2]string{name, code})
	}
	return programs, lines.Err()
}

// attack runs the programs, some at once, and prints how each ended. It fails if one got no answer.
func attack(like mcpClient, programs [][2]string) error {
	next := make(chan [2]string)
	var mu sync.Mutex // guards failed
	var failed error
	var all sync.WaitGroup
	for range attackers {
		all.Go(func() {
			c := like
			err := c.open()
			for p := range next {
				if err == nil {
					err = hostile(c, p)
				}
			}
			mu.Lock()
			failed = errors.Join(failed, err)
			mu.Unlock()
		})
	}
	for _, p := range programs {
		next <- p
	}
	close(next)
	all.Wait()
	return failed
}

// firstText finds the first text of a result.
var firstText = regexp.MustCompile(`"text":"((?:[^"\\]|\\.)*)"`)

func hostile(c mcpClient, p [2]string) error {
	code, err := json.Marshal(p[1])
	if err != nil {
		return err
	}
	began := time.Now()
	_, text, err := c.post(executeBody(strings.Trim(string(code), `"`)))
	if err != nil {
		return fmt.Errorf("%s: %w", p[0], err)
	}
	found := firstText.FindStringSubmatch(text)
	if found == nil || strings.Contains(text, `"isError":true`) && !strings.HasPrefix(found[1], "Error: ") {
		return fmt.Errorf("%s: the answer is %.200s", p[0], text)
	}
	fmt.Printf("  %-28s %6.1f s  %.90s\n", p[0], time.Since(began).Seconds(), found[1])
	return nil
}

// probe measures the executions and the object calls of somebody else until ctx ends, and prints them.
func probe(ctx context.Context, when string, victim mcpClient) error {
	var all sync.WaitGroup
	errs := make([]error, 2)
	latencies := []*hdrhistogram.Histogram{newHistogram(), newHistogram()}
	for i, call := range []func() error{
		func() error { return victim.execute("return 1") },
		func() error {
			_, _, err := victim.post(`{"jsonrpc":"2.0","id":4,"method":"tools/list"}`)
			return err
		},
	} {
		all.Go(func() {
			for wait(ctx, probeEvery) == nil {
				began := time.Now()
				if errs[i] = call(); errs[i] != nil {
					return
				}
				latencies[i].RecordValue(time.Since(began).Microseconds()) //nolint:errcheck // bounded by the client's timeout
			}
		})
	}
	all.Wait()
	for i, what := range []string{"execute `return 1`", "call of the session's object"} {
		h := latencies[i]
		fmt.Printf("%s, %s: %d, p50 %s, p99 %s, max %s\n", when, what, h.TotalCount(), at(h, 50), at(h, 99), at(h, 100))
	}
	return errors.Join(errs...)
}

func at(h *hdrhistogram.Histogram, percentile float64) time.Duration {
	return (time.Duration(h.ValueAtQuantile(percentile)) * time.Microsecond).Round(10 * time.Microsecond)
}
