package membership_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tandem-do/tandem/router/membership"
)

func TestTransitions(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_000_000, 0)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	joined := func(tab *membership.Table) { tab.Join(start, "a", 5) }
	tests := []struct {
		name  string
		do    func(tab *membership.Table) error
		err   error
		state membership.State
	}{
		{"never joined", func(*membership.Table) error { return nil }, nil, membership.Unknown},
		{"renew without a lease", func(tab *membership.Table) error {
			return tab.Renew(start, "a", 5, false)
		}, membership.ErrNotMember, membership.Unknown},
		{"joined", func(tab *membership.Table) error { joined(tab); return nil }, nil, membership.Alive},
		{"renew in time", func(tab *membership.Table) error {
			joined(tab)
			return tab.Renew(at(membership.TTL-1), "a", 5, false)
		}, nil, membership.Alive},
		{"renew too late", func(tab *membership.Table) error {
			joined(tab)
			return tab.Renew(at(membership.TTL), "a", 5, false)
		}, membership.ErrNotMember, membership.Gone},
		{"renew under another epoch", func(tab *membership.Table) error {
			joined(tab)
			return tab.Renew(start, "a", 4, true)
		}, membership.ErrNotMember, membership.Alive},
		{"drain", func(tab *membership.Table) error {
			joined(tab)
			return tab.Renew(start, "a", 5, true)
		}, nil, membership.Draining},
		{"drain no more", func(tab *membership.Table) error {
			joined(tab)
			return errors.Join(tab.Renew(start, "a", 5, true), tab.Renew(start, "a", 5, false))
		}, nil, membership.Alive},
		{"draining host expires", func(tab *membership.Table) error {
			joined(tab)
			err := tab.Renew(start, "a", 5, true)
			tab.Expire(at(membership.TTL))
			return err
		}, nil, membership.Gone},
		{"leave", func(tab *membership.Table) error {
			joined(tab)
			tab.Leave("a", 5)
			return tab.Renew(start, "a", 5, false)
		}, membership.ErrNotMember, membership.Gone},
		{"leave under another epoch", func(tab *membership.Table) error {
			joined(tab)
			tab.Leave("a", 4)
			return nil
		}, nil, membership.Alive},
		{"join after the end", func(tab *membership.Table) error {
			tab.AddGone("a", 5)
			tab.Join(start, "a", 6)
			return nil
		}, nil, membership.Alive},
	}
	for _, tt := range tests {
		tab := membership.New()
		if err := tt.do(tab); !errors.Is(err, tt.err) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.err)
		}
		if got := tab.State("a"); got != tt.state {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.state)
		}
	}
}

func TestExpireReportsOnce(t *testing.T) {
	t.Parallel()
	tab, start := membership.New(), time.Unix(1, 0)
	tab.Join(start, "b", 1)
	tab.Join(start, "a", 2)
	tab.Join(start.Add(time.Second), "c", 3)
	if got := tab.Expire(start.Add(membership.TTL)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
	if got := tab.Expire(start.Add(membership.TTL)); len(got) != 0 {
		t.Errorf("again: got %q", got)
	}
}
