package deploy

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	deploypb "github.com/tandem-do/tandem/proto/deploy/v1"
	"github.com/tandem-do/tandem/runtime/bundle"
)

func version(t *testing.T, name, code string, secrets map[string]string) Version {
	t.Helper()
	b, err := bundle.New(&bundle.Manifest{Name: name, Format: bundle.FormatModules, Main: "m.js"}, []byte(code), nil)
	if err != nil {
		t.Fatal(err)
	}
	return Version{Bundle: b, Secrets: secrets}
}

func TestDeploy(t *testing.T) {
	t.Parallel()
	first := version(t, "w", "1", map[string]string{"A": "hunter2"})
	errStart := errors.New("does not start")
	for _, tc := range []struct {
		name     string
		next     Version
		load     error
		start    error
		text     string
		changed  bool
		switches int
	}{
		{"another bundle", version(t, "w", "2", nil), nil, nil, "", true, 1},
		{"another secret", version(t, "w", "1", map[string]string{"A": "hunter3"}), nil, nil, "", true, 1},
		{"the same", version(t, "w", "1", maps.Clone(first.Secrets)), nil, nil, "", false, 0},
		{"another Worker's", version(t, "v", "2", nil), nil, nil,
			`the bundle is another Worker's: it is "v", and "w" runs here`, false, 0},
		{"damaged", Version{}, bundle.ErrCorrupt, nil, "bundle file is damaged", false, 0},
		{"broken", version(t, "w", "2", nil), nil, errStart, "does not start", false, 1},
		{"at the end", version(t, "w", "2", nil), nil, ErrEnding, "the process is ending", false, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			switches := 0
			d := New(Options{
				Running: first, Log: slog.New(slog.NewTextHandler(&log, nil)),
				Load: func() (Version, error) { return tc.next, tc.load },
				Switch: func(_ context.Context, v Version) error {
					if switches++; !v.Equal(tc.next) {
						t.Error("another version")
					}
					return tc.start
				},
			})
			s := &service{deployers: []*Deployer{d}}
			for n := range 2 { // what runs is compared with what comes next
				r, err := s.Deploy(t.Context(), &deploypb.DeployRequest{})
				if err != nil || len(r.GetOutcomes()) != 1 {
					t.Fatal(r, err)
				}
				got, runs := r.GetOutcomes()[0], first
				if tc.text == "" {
					runs = tc.next
				}
				if got.GetRefused() != tc.text || got.GetChanged() != (tc.changed && n == 0) || got.GetWorker() != "w" ||
					got.GetHash() != runs.Bundle.Hash() {
					t.Errorf("got %v", got)
				}
				if n == 0 && (got.GetPreviousHash() != first.Bundle.Hash() || switches != tc.switches) {
					t.Errorf("got %v, %d switches", got, switches)
				}
			}
			if strings.Contains(log.String(), "hunter") {
				t.Error(log.String())
			}
		})
	}
}

// TestFollow: requests while one runs are one more, and deployments never run beside each other.
func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		running, switches := 0, 0
		d := New(Options{
			Running: version(t, "w", "1", nil),
			Load:    func() (Version, error) { return version(t, "w", time.Now().String(), nil), nil },
			Switch: func(context.Context, Version) error {
				if running++; running > 1 {
					t.Error("two at once")
				}
				time.Sleep(time.Second)
				running--
				switches++
				return nil
			},
		})
		ctx, stop := context.WithCancel(t.Context())
		requests := make(chan struct{}, 1)
		var wait sync.WaitGroup
		wait.Go(func() { Follow(ctx, requests, d) })
		for range 5 {
			select {
			case requests <- struct{}{}:
			default:
			}
			time.Sleep(100 * time.Millisecond)
		}
		if _, err := d.Deploy(t.Context()); err != nil {
			t.Error(err)
		}
		stop()
		wait.Wait()
		if switches < 2 || switches > 3 {
			t.Errorf("%d switches", switches)
		}
	})
}
