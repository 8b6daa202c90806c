package soak

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Counts are what the processes of a stack hold.
type Counts struct {
	// Goroutines and Descriptors are by the process's name; goroutines that are kept for more to do are left out.
	Goroutines, Descriptors map[string]int
	// Programs is how many processes the sandbox has for programs.
	Programs int
}

// Count counts what processes hold. profiles is their TANDEM_PROFILE_DIR.
func Count(ctx context.Context, pids map[string]int, profiles string) (Counts, error) {
	c := Counts{Goroutines: map[string]int{}, Descriptors: map[string]int{}}
	for name, pid := range pids {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			return c, fmt.Errorf("descriptors of %s: %w", name, err)
		}
		c.Descriptors[name] = len(entries)
		profile, err := Goroutines(ctx, pid, profiles)
		if err == nil {
			c.Goroutines[name], err = working(profile)
		}
		if err != nil {
			return c, fmt.Errorf("goroutines of %s: %w", name, err)
		}
	}
	c.Programs = len(Children(pids["sandbox"]))
	return c, nil
}

// parked are functions in which goroutines wait for more to do. There is a most of them for each owner, which is reached
// sooner or later.
var parked = []string{"runtime/isolate.(*workers).work+", "proto/sidecar.(*callerConn).work+"}

// working counts the goroutines of a profile that are not parked.
func working(profile string) (int, error) {
	line, rest, _ := strings.Cut(profile, "\n")
	total, err := strconv.Atoi(strings.TrimPrefix(line, "goroutine profile: total "))
	if err != nil {
		return 0, err
	}
	for stack := range strings.SplitSeq(rest, "\n\n") {
		head, frames, _ := strings.Cut(stack, "\n")
		count, _, _ := strings.Cut(head, " @")
		top, _, _ := strings.Cut(frames, "\n")
		if slices.ContainsFunc(parked, func(f string) bool { return strings.Contains(top, f) }) {
			n, err := strconv.Atoi(count)
			if err != nil {
				return 0, fmt.Errorf("count of a stack: %w", err)
			}
			total -= n
		}
	}
	return total, nil
}

// Goroutines returns the profile of a process's goroutines: what they do, the most frequent first.
func Goroutines(ctx context.Context, pid int, profiles string) (string, error) {
	return profile(ctx, pid, profiles, "goroutine?debug=1")
}

// Heap returns the bytes of a process's heap after a collection.
func Heap(ctx context.Context, pid int, profiles string) (int64, error) {
	text := ""
	for range 2 { // the second collection frees what the first one's finalizers held
		var err error
		if text, err = profile(ctx, pid, profiles, "heap?gc=1&debug=1"); err != nil {
			return 0, err
		}
	}
	_, rest, _ := strings.Cut(text, "\n# HeapAlloc = ")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("HeapAlloc in the profile: %w", err)
	}
	return n, nil
}

// profile returns a profile of a process. profiles is its TANDEM_PROFILE_DIR.
func profile(ctx context.Context, pid int, profiles, name string) (string, error) {
	sockets, err := filepath.Glob(filepath.Join(profiles, fmt.Sprintf("*-%d.sock", pid)))
	if err != nil || len(sockets) != 1 {
		return "", fmt.Errorf("%d profile sockets of process %d: %w", len(sockets), pid, err)
	}
	client := http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", sockets[0])
		},
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://profile/debug/pprof/"+name, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// Children returns the processes that a process has started and that have not ended.
func Children(pid int) []int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is good
	var all []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// slack is by how much a count may be larger afterwards: connections and timers come and go.
const slack = 12

// Leaked says what there is more of than before.
func (c Counts) Leaked(before Counts) []string {
	var leaks []string
	for _, name := range slices.Sorted(maps.Keys(c.Goroutines)) {
		if n, was := c.Goroutines[name], before.Goroutines[name]; n > was+slack {
			leaks = append(leaks, fmt.Sprintf("%s has %d goroutines, had %d", name, n, was))
		}
		if n, was := c.Descriptors[name], before.Descriptors[name]; n > was+slack {
			leaks = append(leaks, fmt.Sprintf("%s has %d descriptors, had %d", name, n, was))
		}
	}
	if c.Programs > before.Programs+1 {
		leaks = append(leaks, fmt.Sprintf("the sandbox has %d processes for programs, had %d", c.Programs, before.Programs))
	}
	return leaks
}

// Settle counts until nothing is leaked, for at most a while, and returns the last counts.
func Settle(ctx context.Context, before Counts, limit time.Duration, count func() (Counts, error)) (Counts, error) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		c, err := count()
		if err != nil || len(c.Leaked(before)) == 0 {
			return c, err
		}
		select {
		case <-look.C:
		case <-deadline.C:
			return c, nil
		case <-ctx.Done():
			return c, ctx.Err()
		}
	}
}
