package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	liveObjects = 100_000
	liveFiles   = 1024
	alarmCount  = 10_000
	// alarmsWithin is how soon after their time all alarms must be on disk.
	alarmsWithin = 500 * time.Millisecond
	feeders      = 64
)

// feed sends one request for each of n objects, from feeders connections.
func feed(address string, n int, do func(w *wire, i int) error) (time.Duration, error) {
	wires, stop, err := dialWires(address, feeders)
	if err != nil {
		return 0, err
	}
	defer stop()
	return eachWorker(feeders, n, func(worker, i int) error { return do(wires[worker], i) })
}

func path(before string, i int, after string) string { return before + strconv.Itoa(i) + after }

// benchLive keeps many objects alive in a host with few files, and measures what each holds.
func benchLive(ctx context.Context) error {
	return attempt(ctx, func(t *steps) error {
		binaries, err := buildCounter(t)
		if err != nil {
			return err
		}
		profiles := t.TempDir()
		c, err := startCounter(t, counterOptions{binaries: binaries, files: liveFiles, profiles: profiles})
		if err != nil {
			return err
		}
		socket := filepath.Join(profiles, "host.sock")
		before, err := liveHeap(ctx, socket)
		if err != nil {
			return err
		}
		// An object is evicted 10 s after its last call: calls go round until all are live at once.
		ping := func(w *wire, i int) error {
			_, err := w.do("GET", path("/ping/o", i, ""))
			return err
		}
		made, err := feed(c.address, liveObjects, ping)
		if err != nil {
			return err
		}
		again, err := feed(c.address, liveObjects, ping)
		if err != nil {
			return err
		}
		resident := residentBytes(c.host.cmd.Process.Pid)
		after, err := liveHeap(ctx, socket)
		if err != nil {
			return err
		}
		files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.host.cmd.Process.Pid))
		fmt.Printf("%d live objects: made in %s, called again in %s (all live if under 10s)\n", liveObjects,
			made.Round(time.Millisecond), again.Round(time.Millisecond))
		fmt.Printf("heap each, after a collection: %.2f KiB; resident memory of the host: %.0f MiB; files: %d of %d\n",
			float64(after-before)/1024/liveObjects, mib(resident), len(files), liveFiles)
		if err := wait(ctx, 75*time.Second); err != nil { // eviction after 10 s, and the entry's expiry after 70 s
			return err
		}
		idle, err := liveHeap(ctx, socket)
		fmt.Printf("heap for each evicted object: %.0f bytes\n", float64(idle-before)/liveObjects)
		return err
	})
}

// liveHeap returns the bytes of a process's heap after a collection.
func liveHeap(ctx context.Context, socket string) (int64, error) {
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	var n int64
	for range 2 { // the second collection frees what the first one's finalizers held
		r, err := http.NewRequestWithContext(ctx, "GET", "http://profile/debug/pprof/heap?gc=1&debug=1", nil)
		if err != nil {
			return 0, err
		}
		resp, err := client.Do(r)
		if err != nil {
			return 0, err
		}
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "# HeapAlloc = "); ok {
				n, err = strconv.ParseInt(text, 10, 64)
			}
		}
		resp.Body.Close()
		if err != nil || n == 0 {
			return 0, fmt.Errorf("no HeapAlloc in the profile: %w", err)
		}
	}
	return n, nil
}

// benchAlarms sets many alarms for one moment, kills the host half a second after it, and counts on the next one which
// alarms had been durable by then.
func benchAlarms(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		binaries, err := buildCounter(t)
		if err != nil {
			return err
		}
		for range s.rounds {
			c, err := startCounter(t, counterOptions{binaries: binaries})
			if err != nil {
				return err
			}
			if err := alarmRound(ctx, t, c); err != nil {
				return err
			}
			c.worker.end(syscall.SIGTERM)
			c.host.end(syscall.SIGTERM)
			c.router.end(syscall.SIGTERM)
		}
		return nil
	})
}

func alarmRound(ctx context.Context, t *steps, c *counterStack) error {
	// Objects that are asleep by then would cost a little more; those here are evicted 10 s after they were set.
	due := time.Now().Add(12 * time.Second)
	took, err := feed(c.address, alarmCount, func(w *wire, i int) error {
		in := strconv.FormatFloat(time.Until(due).Seconds(), 'f', 6, 64)
		_, err := w.do("POST", path("/counter/a", i, "/reset?in="+in))
		return err
	})
	if err != nil {
		return err
	}
	if err := wait(ctx, time.Until(due)+alarmsWithin); err != nil {
		return err
	}
	c.host.end(syscall.SIGKILL)
	if err := c.startHost(t); err != nil {
		return err
	}
	// What fired before the kill and is not on disk fires again now, later than allowed.
	late := make([]float64, alarmCount)
	early, twice, missed := 0, 0, 0
	if err := awaitServer(ctx, c.address, "/counter/a0"); err != nil {
		return err
	}
	if err := wait(ctx, 2*time.Second); err != nil {
		return err
	}
	for i := range late {
		if late[i], err = alarmOf(c.address, i, &early, &twice); err != nil {
			return err
		}
		if late[i] > float64(alarmsWithin.Milliseconds()) {
			missed++
		}
	}
	slices.Sort(late)
	fmt.Printf("%d alarms set in %s, due at once: p50 %.0f ms late, last %.0f ms; not durable %s after: %d; early: %d; "+
		"twice: %d\n", alarmCount, took.Round(time.Millisecond), late[alarmCount/2], late[alarmCount-1], alarmsWithin,
		missed, early, twice)
	return nil
}

// alarmOf returns how many milliseconds after its time an alarm ran.
func alarmOf(address string, i int, early, twice *int) (float64, error) {
	var status struct {
		Resets int
		LateMS float64
	}
	w, err := dialWire(address)
	if err != nil {
		return 0, err
	}
	defer w.conn.Close()
	body, err := w.do("GET", path("/counter/a", i, ""))
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(body, &status); err != nil {
		return 0, err
	}
	switch {
	case status.Resets == 0:
		return 0, fmt.Errorf("alarm %d did not run", i)
	case status.Resets > 1:
		*twice++
	}
	if status.LateMS < 0 {
		*early++
	}
	return status.LateMS, nil
}

// benchOpen starts a host on many objects.
func benchOpen(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		binaries, err := buildCounter(t)
		if err != nil {
			return err
		}
		c, err := startCounter(t, counterOptions{binaries: binaries})
		if err != nil {
			return err
		}
		took, err := feed(c.address, s.objects, func(w *wire, i int) error {
			_, err := w.do("POST", path("/counter/o", i, "/increment"))
			return err
		})
		if err != nil {
			return err
		}
		fmt.Printf("%d objects written in %s\n", s.objects, took.Round(time.Millisecond))
		for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGTERM} {
			c.host.end(end)
			began := time.Now()
			if err := c.startHost(t); err != nil {
				return err
			}
			if err := awaitServer(ctx, c.address, "/counter/o0"); err != nil {
				return err
			}
			fmt.Printf("first answer %s after the start, the host before having ended by %s\n",
				time.Since(began).Round(time.Millisecond), end)
		}
		return nil
	})
}
