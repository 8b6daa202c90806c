package pool

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"time"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
)

// hostileProgram is a line of testdata/hostile.txt.
type hostileProgram struct{ name, code string }

func hostilePrograms(t *testing.T) []hostileProgram {
	t.Helper()
	f, err := os.Open("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []hostileProgram
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") || s.Text() == "" {
			continue
		}
		name, code, ok := strings.Cut(s.Text(), " | ")
		if !ok {
			t.Fatalf("line without a program: %s", s.Text())
		}
		all = append(all, hostileProgram{name, code})
	}
	if len(all) < 30 {
		t.Fatalf("only %d hostile programs", len(all))
	}
	return all
}

// TestHostile runs every hostile program and holds that it ends within its limits with words that say why,
// that a program beside it completes, and that the pool serves on.
func TestHostile(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("the race detector's memory breaks the limits")
	}
	o := testOptions(t)
	o.Wait = time.Minute
	p := newPool(t, o)
	// At most this many at once, so that each gets the processor time that it may have within its wall clock.
	slots := make(chan struct{}, 3)
	for _, h := range hostilePrograms(t) {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			beside := make(chan string, 1)
			go func() { beside <- outcome(execute(t.Context(), p, testProgram("return [].map.call([1], x => x + 1)"))) }()
			program := testProgram("return " + h.code)
			program.WallClock = 3 * time.Second
			if strings.Contains(h.code, ";") || strings.HasPrefix(h.code, "while") {
				program.Code = h.code
			}
			started := time.Now()
			d, err := execute(t.Context(), p, program)
			took := time.Since(started)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v after %v, %v of CPU: %.200s", d.Outcome, took.Round(time.Millisecond), d.Cpu.AsDuration(), d.Error+string(d.ResultJson))
			if (d.Outcome == sandboxpb.Outcome_OUTCOME_COMPLETED) != (d.Error == "") {
				t.Errorf("outcome %v has the error %q", d.Outcome, d.Error)
			}
			if d.Outcome == sandboxpb.Outcome_OUTCOME_CRASHED {
				t.Errorf("crashed: %s", d.Error)
			}
			if limit := program.WallClock + 10*time.Second; took > limit {
				t.Errorf("took %v", took)
			}
			if used := d.Cpu.AsDuration(); used > program.Limits.CPU+1500*time.Millisecond {
				t.Errorf("used %v of CPU", used)
			}
			if got := <-beside; got != "[2]" {
				t.Errorf("the program beside it: %s", got)
			}
		})
	}
}
