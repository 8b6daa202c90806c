package mcpsession

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDecideSessionAlarm(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	limits := sessionTimeouts{idle: 5 * time.Minute, paused: 9 * time.Minute}
	ago := func(d time.Duration, inflight, paused int) sessionActivity {
		return sessionActivity{lastActive: now.Add(-d), inflight: inflight, paused: paused}
	}
	wait := func(d time.Duration) sessionDecision { return sessionDecision{again: now.Add(d)} }
	for _, tc := range []struct {
		name     string
		activity sessionActivity
		limits   sessionTimeouts
		want     sessionDecision
	}{
		{"idle", ago(5*time.Minute, 0, 0), limits, sessionDecision{dispose: true, reason: "idle"}},
		{"active a minute ago", ago(time.Minute, 0, 0), limits, wait(4 * time.Minute)},
		{"in flight", ago(time.Hour, 1, 0), limits, wait(5 * time.Minute)},
		{"in flight and paused", ago(time.Hour, 1, 1), limits, wait(5 * time.Minute)},
		{"paused extends", ago(5*time.Minute, 0, 1), limits, wait(4 * time.Minute)},
		{"paused too long", ago(9*time.Minute, 0, 2), limits, sessionDecision{dispose: true, reason: "paused_timeout"}},
		{
			"paused never shortens", ago(5*time.Minute, 0, 1), sessionTimeouts{idle: 9 * time.Minute, paused: time.Minute},
			wait(4 * time.Minute),
		},
		{"clock went back", sessionActivity{lastActive: now.Add(time.Hour)}, limits, wait(65 * time.Minute)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := decideSessionAlarm(tc.activity, tc.limits, now)
			if d := cmp.Diff(tc.want, got, cmp.AllowUnexported(sessionDecision{})); d != "" {
				t.Errorf("decision (-want +got):\n%s", d)
			}
		})
	}
}

func TestDecideExecutionAlarm(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	paused := func(left time.Duration) *journal {
		return &journal{Phase: phasePaused, Pause: &pause{Deadline: now.Add(left)}}
	}
	running := func(left time.Duration) *journal { return &journal{Phase: phaseRunning, Until: now.Add(left)} }
	ended := func(phase string, ago time.Duration, o *outcome) *journal {
		return &journal{Phase: phase, EndedAt: now.Add(-ago), Outcome: o}
	}
	for _, tc := range []struct {
		name    string
		journal *journal
		live    bool
		want    executionAlarm
		at      time.Duration // from now; negative for none
	}{
		{"nothing stored", nil, false, alarmDelete, -1},
		{"window open", paused(time.Second), false, alarmWait, time.Second},
		{"window over", paused(0), false, alarmExpire, -1},
		{"answered", running(time.Second), false, alarmWait, time.Second},
		{"running on", running(0), true, alarmWait, runningCheck},
		{"lost", running(0), false, alarmExpire, -1},
		{"replay window open", ended(phaseSettled, time.Minute, &outcome{}), false, alarmWait, replayWindow - time.Minute},
		{"replay window over", ended(phaseSettled, replayWindow, &outcome{}), false, alarmForget, retention - replayWindow},
		{"nothing to forget", ended(phaseExpired, time.Minute, nil), false, alarmForget, retention - time.Minute},
		{"retention over", ended(phaseSettled, retention, nil), false, alarmDelete, -1},
		{"expired long ago", ended(phaseExpired, retention, nil), false, alarmDelete, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, at := decideExecutionAlarm(tc.journal, tc.live, now)
			var want time.Time
			if tc.at >= 0 {
				want = now.Add(tc.at)
			}
			if got != tc.want || !at.Equal(want) {
				t.Errorf("got %v at %v, want %v at %v", got, at, tc.want, want)
			}
		})
	}
}

func TestDecideResume(t *testing.T) {
	t.Parallel()
	j := func(phase string, pauses uint64, o *outcome) *journal {
		return &journal{Phase: phase, AccountID: "a", OrganizationID: "o", Pauses: pauses, Outcome: o, Pause: &pause{}}
	}
	kept := func(j *journal) *journal {
		j.Replayable = true
		return j
	}
	done := &outcome{}
	for _, tc := range []struct {
		name    string
		journal *journal
		n       uint64
		account string
		live    bool
		want    resumeVerdict
	}{
		{"no state", nil, 1, "a", false, resumeUnknown},
		{"the execution itself", j(phasePaused, 1, nil), 0, "a", true, resumeUnknown},
		{"a pause that is yet to come", j(phasePaused, 1, nil), 2, "a", true, resumeUnknown},
		{"another's", j(phasePaused, 1, nil), 1, "b", true, resumeForbidden},
		{"pending", j(phasePaused, 2, nil), 2, "a", true, resumeDecides},
		{"in flight", j(phaseRunning, 2, nil), 2, "a", true, resumeJoins},
		{"duplicate that must not approve the next", j(phasePaused, 2, nil), 1, "a", true, resumeReplaysPause},
		{"duplicate of one before the last", j(phasePaused, 3, nil), 1, "a", true, resumeSettled},
		{"duplicate while a later one runs", j(phaseRunning, 2, nil), 1, "a", true, resumeSettled},
		{"settled", j(phaseSettled, 1, done), 1, "a", false, resumeReplaysOutcome},
		{"settled, not by this pause", j(phaseSettled, 2, done), 1, "a", false, resumeSettled},
		{"settled long ago", j(phaseSettled, 1, nil), 1, "a", false, resumeSettled},
		{"expired", j(phaseExpired, 1, nil), 1, "a", false, resumeExpired},
		{"host lost while paused", j(phasePaused, 1, nil), 1, "a", false, resumeLost},
		{"host lost after the answer", j(phaseRunning, 1, nil), 1, "a", false, resumeLost},
		{"paused for long", kept(j(phasePaused, 1, nil)), 1, "a", false, resumeDecides},
		{"duplicate while paused for long", kept(j(phasePaused, 2, nil)), 1, "a", false, resumeReplaysPause},
		{"to be run again", kept(j(phaseRunning, 1, nil)), 1, "a", false, resumeRestarts},
		{"running again", kept(j(phaseRunning, 1, nil)), 1, "a", true, resumeJoins},
		{"duplicate of one before, to be run again", kept(j(phaseRunning, 2, nil)), 1, "a", false, resumeSettled},
		{"another's after a loss", j(phasePaused, 1, nil), 1, "b", false, resumeForbidden},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := decideResume(tc.journal, tc.n, tc.account, "o", tc.live); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestExecutionID(t *testing.T) {
	t.Parallel()
	id := newExecutionID()
	if id == newExecutionID() {
		t.Error("two ids are equal")
	}
	if id.Pause() != 0 || id.Base() != id.String() {
		t.Errorf("new id %v has pause %d", id, id.Pause())
	}
	third := id.At(3)
	if third.Pause() != 3 || third.Base() != id.String() || third == id {
		t.Errorf("At(3) = %v of %v", third, id)
	}
	if last := id.At(1<<48 - 1); last.Pause() != 1<<48-1 || last.Base() != id.Base() {
		t.Errorf("At(max) = %v", last)
	}
	parsed, err := parseExecutionID(third.String())
	if err != nil || parsed != third {
		t.Errorf("parse(%v) = %v, %v", third, parsed, err)
	}
}

func FuzzParseExecutionID(f *testing.F) {
	f.Add(newExecutionID().At(7).String())
	f.Add("exec_00000000-0000-4000-8000-000000000000") // a random UUID, not ours
	f.Add("exec_")
	f.Add("exec_{00000000-0000-8000-8000-000000000000}")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := parseExecutionID(s)
		if err == nil && id.String() != s {
			t.Errorf("parse(%q) gives %q", s, id)
		}
	})
}
