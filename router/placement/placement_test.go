package placement_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/router/membership"
	"github.com/tandem-do/tandem/router/placement"
)

func parseState(t *testing.T, s string) membership.State {
	for _, state := range []membership.State{membership.Unknown, membership.Alive, membership.Draining, membership.Gone} {
		if state.String() == s {
			return state
		}
	}
	t.Fatalf("unknown state %q", s)
	return 0
}

// hosts reads lines of "id state [serves]".
func hosts(t *testing.T, input string) (list []placement.Host) {
	for line := range strings.Lines(input) {
		f := strings.Fields(line)
		list = append(list, placement.Host{ID: f[0], State: parseState(t, f[1]), Serves: len(f) == 3})
	}
	return list
}

func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var slot placement.Slot
			var n uint64
			d.MaybeScanArgs(t, "ns", &slot.Namespace)
			d.MaybeScanArgs(t, "slot", &n)
			slot.Number = uint32(n)
			switch d.Cmd {
			case "first":
				host, err := placement.First(slot, hosts(t, d.Input))
				if err != nil {
					return fmt.Sprintf("error: %v\n", err)
				}
				return host + "\n"
			case "current":
				if err := placement.Current(slot, hosts(t, d.Input)[0]); err != nil {
					return fmt.Sprintf("error: %v\n", err)
				}
				return "ok\n"
			case "share":
				return share(slot.Namespace, hosts(t, d.Input))
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

// share counts the slots of each host.
func share(namespace string, list []placement.Host) string {
	count := map[string]int{}
	for n := range uint32(objectid.Slots) {
		host, err := placement.First(placement.Slot{Namespace: namespace, Number: n}, list)
		if err != nil {
			return fmt.Sprintf("error: %v\n", err)
		}
		count[host]++
	}
	var b strings.Builder
	for _, h := range list {
		fmt.Fprintf(&b, "%s %d\n", h.ID, count[h.ID])
	}
	return b.String()
}

// A host that comes takes slots from the others, and moves none between them.
func TestNewHostMovesNothingElse(t *testing.T) {
	t.Parallel()
	two := []placement.Host{{ID: "a", State: membership.Alive, Serves: true}, {ID: "b", State: membership.Alive, Serves: true}}
	three := append(two[:2:2], placement.Host{ID: "c", State: membership.Alive, Serves: true})
	for n := range uint32(objectid.Slots) {
		slot := placement.Slot{Namespace: "x-A", Number: n}
		before, _ := placement.First(slot, two)
		if after, _ := placement.First(slot, three); after != before && after != "c" {
			t.Errorf("slot %d went from %s to %s", n, before, after)
		}
	}
}
