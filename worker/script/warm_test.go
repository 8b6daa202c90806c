package script

import "testing"

func TestWarm(t *testing.T) {
	t.Parallel()
	if err := Warm(t.Context()); err != nil {
		t.Error(err)
	}
}
