package pool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestQueueServesInTurn gives callers as organization and number. A minus takes a caller out, a dot serves one.
func TestQueueServesInTurn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, script, want string }{
		{"one organization, in order", "a1 a2 a3 . . .", "a1 a2 a3"},
		{"the many do not delay the one", "a1 a2 a3 a4 b1 . . . . .", "a1 b1 a2 a3 a4"},
		{"one who comes late waits one turn", "a1 a2 a3 . b1 . . .", "a1 a2 b1 a3"},
		{"three in turn", "a1 a2 b1 b2 c1 c2 . . . . . .", "a1 b1 c1 a2 b2 c2"},
		{"a new line begins at the end", "a1 a2 b1 b2 . . c1 . . .", "a1 b1 a2 b2 c1"},
		{"one who was served comes again", "a1 b1 b2 . a2 . . .", "a1 b1 a2 b2"},
		{"who gives up is passed over", "a1 a2 b1 -a1 . .", "a2 b1"},
		{"a line that gave up leaves no turn", "a1 b1 c1 c2 -b1 . . .", "a1 c1 c2"},
		{"who was served cannot give up", "a1 . -a1 a2 .", "a1 a2"},
		{"nobody", ". a1 . .", "a1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var q queue
			names, callers := map[*waiter]string{}, map[string]*waiter{}
			var served []string
			waiting := 0
			for _, step := range strings.Fields(tc.script) {
				switch {
				case step == ".":
					if w := q.pop(anyone); w != nil {
						served = append(served, names[w])
						waiting--
					}
				case step[0] == '-':
					if q.remove(callers[step[1:]]) {
						waiting--
					}
				default:
					w := &waiter{organization: step[:1]}
					names[w], callers[step] = step, w
					q.push(w)
					waiting++
				}
				if sum := q.of("a") + q.of("b") + q.of("c"); sum != waiting || q.length != waiting {
					t.Errorf("after %s: %d in lines and a length of %d, want %d", step, sum, q.length, waiting)
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(served, " ")); diff != "" {
				t.Errorf("served (-want +got):\n%s", diff)
			}
			if q.length == 0 && (len(q.ring) > 0 || len(q.lines) > 0) {
				t.Errorf("%d lines are left of an empty queue", len(q.ring))
			}
		})
	}
}

// TestQueueIsFair holds that 500 programs of one organization delay the only one of another by one turn.
func TestQueueIsFair(t *testing.T) {
	t.Parallel()
	var q queue
	for range 500 {
		q.push(&waiter{organization: "busy"})
	}
	for i := range 100 {
		w := &waiter{organization: fmt.Sprint(i % 2)}
		q.push(w)
		turns := 0
		for q.pop(anyone) != w {
			turns++
		}
		if turns > 1 {
			t.Fatalf("program %d waited for %d others", i, turns)
		}
	}
}
