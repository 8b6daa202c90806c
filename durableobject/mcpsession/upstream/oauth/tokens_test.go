package oauth

import (
	"errors"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// keeper keeps what was saved.
type keeper struct {
	mu    sync.Mutex // guards what follows
	saved []Credentials
	err   error
}

func (k *keeper) save(c Credentials) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return k.err
	}
	k.saved = append(k.saved, c)
	return nil
}

// Tokens are renewed before they end and when they are refused, once for all who need them, and saved.
func TestRenewal(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ended", "refused"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, k := newWorld(t), &keeper{}
			c := w.mustSignIn()
			if name == "ended" {
				c.Expiry = time.Now().Add(earlyRenewal / 2)
			}
			source := w.connect(Options{Credentials: c, Save: k.save})
			if name == "refused" {
				w.set(func() { w.access = "none" })
			}
			var group errgroup.Group
			for range 20 {
				group.Go(func() error {
					_, err := source.Call(t.Context(), "work", nil)
					return err
				})
			}
			if err := group.Wait(); err != nil {
				t.Fatal(err)
			}
			if len(k.saved) != 1 || k.saved[0].AccessToken != "access-2" || k.saved[0].RefreshToken != "refresh-2" {
				t.Errorf("%d credentials were saved", len(k.saved))
			}
			if n := len(w.forms); n != 2 {
				t.Errorf("the token endpoint was asked %d times, want twice", n)
			}
		})
	}
}

// What cannot be renewed is an error that says what to do: sign in again, or wait.
func TestNotRenewed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.mustSignIn()
	source := w.connect(Options{Credentials: c})
	w.set(func() { w.access, w.refresh = "none", "none" })
	_, err := source.Call(t.Context(), "work", nil)
	wantCode(t, err, upstream.CodeUnauthorized)

	w.set(func() { w.down = true })
	_, err = source.Call(t.Context(), "work", nil)
	wantCode(t, err, upstream.CodeUnavailable)

	c.RefreshToken = ""
	w.set(func() { w.down, w.access = false, c.AccessToken })
	source = w.connect(Options{Credentials: c})
	w.set(func() { w.access = "none" })
	_, err = source.Call(t.Context(), "work", nil)
	wantCode(t, err, upstream.CodeUnauthorized)
	if Challenge(err) == "" {
		t.Error("the error has no challenge")
	}
}

// Credentials that another process has renewed are taken over.
func TestRenewedElsewhere(t *testing.T) {
	t.Parallel()
	w, k := newWorld(t), &keeper{}
	c := w.mustSignIn()
	theirs := c
	theirs.AccessToken, theirs.RefreshToken = "access-theirs", "refresh-theirs"
	w.set(func() { w.access, w.refresh = theirs.AccessToken, theirs.RefreshToken })
	source := w.connect(Options{Credentials: c, Save: k.save, Load: func() (Credentials, error) { return theirs, nil }})
	if _, err := source.Call(t.Context(), "work", nil); err != nil {
		t.Fatal(err)
	}
	if len(k.saved) != 0 {
		t.Error("credentials of another process were saved")
	}
	// Theirs end too.
	w.set(func() { w.access = "none" })
	if _, err := source.Call(t.Context(), "work", nil); err != nil {
		t.Fatal(err)
	}
	if len(k.saved) != 1 {
		t.Errorf("%d credentials were saved, want 1", len(k.saved))
	}
}

// Credentials that cannot be saved are used, and saved as soon as that works.
func TestNotSaved(t *testing.T) {
	t.Parallel()
	w, k := newWorld(t), &keeper{err: errors.New("disk full")}
	c := w.mustSignIn()
	w.set(func() { w.access = "none" })
	source := w.connect(Options{Credentials: c, Save: k.save})
	if _, err := source.Call(t.Context(), "work", nil); err != nil {
		t.Fatal(err)
	}
	k.mu.Lock()
	k.err = nil
	k.mu.Unlock()
	if _, err := source.Call(t.Context(), "work", nil); err != nil {
		t.Fatal(err)
	}
	if len(k.saved) != 1 || k.saved[0].RefreshToken != "refresh-2" {
		t.Errorf("%d credentials were saved, want 1", len(k.saved))
	}
}
