package clock

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs testdata: each line of a `do` is a command, and its output what happened, with the clock's time since
// the beginning and, in brackets, the real time that it took.
//
//	after D WHO [STEP…]     WHO's func runs once D has passed; STEPs are what it does then:
//	                        after=D,WHO sets another, wait=D waits for the clock, hold=D holds it for D of real time
//	stop WHO                its timer is stopped
//	reset WHO D             its timer is set anew
//	sleep D                 real time passes
//	advance D               the clock is advanced
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) (out string) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{t: t, clock: open(t, ""), timers: map[string]Timer{}, began: time.Now()}
				for line := range strings.Lines(d.Input) {
					s.command(strings.Fields(line))
					synctest.Wait()
				}
				out = s.take()
			})
			return out
		})
	})
}

type script struct {
	t      *testing.T
	clock  *Test
	began  time.Time
	timers map[string]Timer

	mu  sync.Mutex // guards log
	log strings.Builder
}

func (s *script) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.log, "%v %s", s.clock.Clock().Since(s.began), what)
	if real := time.Since(s.began); real > 0 {
		fmt.Fprintf(&s.log, " (%v)", real)
	}
	s.log.WriteByte('\n')
}

func (s *script) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Error(err)
	}
	return d
}

func (s *script) command(f []string) {
	switch f[0] {
	case "after":
		s.after(s.duration(f[1]), f[2], f[3:])
	case "stop":
		s.note(fmt.Sprintf("stop %s: %v", f[1], s.timers[f[1]].Stop()))
	case "reset":
		s.note(fmt.Sprintf("reset %s: %v", f[1], s.timers[f[1]].Reset(s.duration(f[2]))))
	case "sleep":
		time.Sleep(s.duration(f[1]))
	case "advance":
		advance(s.t, s.clock, s.duration(f[1]))
		s.note("advanced")
	default:
		s.t.Errorf("unknown command %q", f)
	}
}

func (s *script) after(d time.Duration, who string, steps []string) {
	s.timers[who] = s.clock.Clock().AfterFunc(d, func() {
		s.note(who)
		for _, step := range steps {
			verb, value, _ := strings.Cut(step, "=")
			value, other, _ := strings.Cut(value, ",")
			switch verb {
			case "after":
				s.after(s.duration(value), other, nil)
			case "wait":
				over := make(chan struct{})
				s.clock.Clock().AfterFunc(s.duration(value), func() { close(over) })
				<-over
				s.note(who + " has waited")
			case "hold":
				time.Sleep(s.duration(value))
				s.note(who + " lets go")
			}
		}
	})
}
