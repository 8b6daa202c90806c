package soak

import "testing"

// What waits for more to do is no leak, what works on something may be one.
func TestWorking(t *testing.T) {
	const profile = "goroutine profile: total 40\n" +
		"20 @ 0x1 0x2\n#\t0x1\tgithub.com/tandem-do/tandem/runtime/isolate.(*workers).work+0xcb\tworkers.go:38\n#\t0x2\tx+0x1\ty:1\n\n" +
		"15 @ 0x3 0x2\n#\t0x3\tio.ReadAll+0x1\tio.go:1\n" +
		"#\t0x1\tgithub.com/tandem-do/tandem/runtime/isolate.(*workers).work+0xcb\tworkers.go:38\n\n" +
		"5 @ 0x4\n#\t0x4\tmain.main+0x1\tmain.go:1\n\n"
	if n, err := working(profile); n != 20 || err != nil {
		t.Errorf("got %d, %v, want 20", n, err)
	}
	if _, err := working("nothing"); err == nil {
		t.Error("a text that is no profile is taken")
	}
}
