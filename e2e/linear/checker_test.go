package linear

import (
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
)

// The checker itself: what it must let pass, and what not.
func TestChecker(t *testing.T) {
	t.Parallel()
	done := result{Done: true}
	lost := result{Unknown: true}
	read := func(a, b, c int) result { return result{Values: values{a, b, c}} }
	type entry struct {
		call         call
		result       result
		began, ended int64
	}
	fill := call{Method: "fill", Value: 7}
	reads := call{Method: "read"}
	set := call{Method: "compareAndSet", Cell: 1, Old: 0, Value: 5}
	tests := []struct {
		name    string
		history []entry
		want    bool
	}{
		{"write and read", []entry{{fill, done, 1, 2}, {reads, read(7, 7, 7), 3, 4}}, true},
		{"acknowledged and lost", []entry{{fill, done, 1, 2}, {reads, read(0, 0, 0), 3, 4}}, false},
		{"half of a turn", []entry{{fill, done, 1, 9}, {reads, read(7, 0, 0), 3, 4}}, false},
		{"half of a turn of unknown outcome", []entry{
			{fill, lost, 1, math.MaxInt64}, {reads, read(7, 7, 0), 3, 4},
		}, false},
		{"unknown and done", []entry{{fill, lost, 1, math.MaxInt64}, {reads, read(7, 7, 7), 3, 4}}, true},
		{"unknown and not done", []entry{{fill, lost, 1, math.MaxInt64}, {reads, read(0, 0, 0), 3, 4}}, true},
		{"unknown and seen, then gone", []entry{
			{fill, lost, 1, math.MaxInt64}, {reads, read(7, 7, 7), 3, 4}, {reads, read(0, 0, 0), 5, 6},
		}, false},
		{"two set what one can", []entry{{set, done, 1, 9}, {set, done, 2, 8}}, false},
		{"rolled back and seen", []entry{
			{call{Method: "tryFill", Value: 7}, result{}, 1, 9}, {reads, read(7, 7, 7), 3, 4},
		}, false},
		{"swap", []entry{
			{set, done, 1, 2}, {call{Method: "swap", Cell: 1, To: 2}, done, 3, 4}, {reads, read(0, 0, 5), 5, 6},
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var operations []porcupine.Operation
			for i, e := range tt.history {
				operations = append(operations, porcupine.Operation{
					ClientId: i, Input: e.call, Output: e.result, Call: e.began, Return: e.ended,
				})
			}
			if got := porcupine.CheckOperations(registers(), operations); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
