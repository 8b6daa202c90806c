package alarm

import (
	"testing"
	"time"
)

// AL-9: 2 s, 4 s, 8 s … and up to a quarter more, for 6 counted retries; AL-12: internal errors do not count.
func TestRetry(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name             string
		outcome          Outcome
		retries, counted int
		jitter           float64
		want             Decision
	}{
		{"first failure", Failed, 0, 0, 0, Decision{Delay: 2 * time.Second, Retries: 1, Counted: 1}},
		{"second failure", Failed, 1, 1, 0, Decision{Delay: 4 * time.Second, Retries: 2, Counted: 2}},
		{"jitter adds", Failed, 0, 0, 0.5, Decision{Delay: 2250 * time.Millisecond, Retries: 1, Counted: 1}},
		{"sixth counted retry", Failed, 5, 5, 0, Decision{Delay: 64 * time.Second, Retries: 6, Counted: 6}},
		{"seventh run fails", Failed, 6, 6, 0, Decision{Drop: true}},
		{"internal does not count", Internal, 6, 6, 0, Decision{Delay: 128 * time.Second, Retries: 7, Counted: 6}},
		{"exponent is capped", Internal, 9, 0, 0, Decision{Delay: 1024 * time.Second, Retries: 10}},
		{"and stays capped", Internal, 1000, 2, 0, Decision{Delay: 1024 * time.Second, Retries: 1001, Counted: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Retry(tt.outcome, tt.retries, tt.counted, tt.jitter); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestRetryJitterStaysBelowAQuarter(t *testing.T) {
	t.Parallel()
	for n := range 12 {
		base := Retry(Internal, n, 0, 0).Delay
		most := Retry(Internal, n, 0, 0.999999).Delay
		if most >= base+base/4+1 || most <= base {
			t.Errorf("retry %d: delay %v to %v, want less than a quarter more", n, base, most)
		}
	}
}

func TestOutcomeNames(t *testing.T) {
	t.Parallel()
	for o := Internal; o <= Interrupted; o++ {
		if o.String() == "unknown" || o.String() == "" {
			t.Errorf("outcome %d has no name", o)
		}
	}
	if got := Outcome(99).String(); got != "unknown" {
		t.Errorf("outcome 99 is %q", got)
	}
}
