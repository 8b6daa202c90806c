package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// A plan is what a seed gives: the steps that are taken, one after the other.
type plan struct {
	seed uint64
	// syncDelay is how long the disk takes to sync, at most.
	syncDelay time.Duration
	steps     []step
}

// step is one thing that happens to the host from outside.
type step struct {
	kind stepKind
	// object and program are whom stepCall calls and what it has it do.
	object  int
	program program
	// cancel is when the caller of stepCall gives up; zero means never.
	cancel time.Duration
	// wait is for how long stepAdvance lets time pass.
	wait time.Duration
	// percent of what is not synced survives stepCrash or the restart after stepDiskFault.
	percent int
	// onWrite has stepDiskFault fail writes rather than syncs.
	onWrite bool
}

type stepKind int

const (
	stepCall stepKind = iota
	stepStale
	stepAdvance
	stepCrash
	stepDiskFault
	stepRestart
)

func (s step) String() string {
	switch s.kind {
	case stepCall:
		text := fmt.Sprintf("call o%d: %s", s.object, s.program)
		if s.cancel > 0 {
			text += fmt.Sprintf(", caller gives up after %v", s.cancel)
		}
		return text
	case stepStale:
		return fmt.Sprintf("call o%d with an old epoch: %s", s.object, s.program)
	case stepAdvance:
		return fmt.Sprintf("advance %v", s.wait)
	case stepCrash:
		return fmt.Sprintf("crash, %d%% of what was not synced survives", s.percent)
	case stepDiskFault:
		what := "sync"
		if s.onWrite {
			what = "write"
		}
		return fmt.Sprintf("disk fails at next %s, %d%% of what was not synced survives", what, s.percent)
	}
	return "restart"
}

// program is what an event does.
type program []instr

func (p program) String() string {
	var parts []string
	for _, i := range p {
		parts = append(parts, i.String())
	}
	return strings.Join(parts, "; ")
}

// has reports whether any instruction of the program, at any depth, is of a kind.
func (p program) has(k instrKind) bool {
	for _, i := range p {
		if i.kind == k || i.body.has(k) {
			return true
		}
	}
	return false
}

// instr is one instruction of a program.
type instr struct {
	kind instrKind
	key  string
	// wait is a duration; with instrSetAlarm, from now until the alarm.
	wait time.Duration
	// object is whom instrCall calls.
	object int
	// body is what runs within.
	body program
	// fails says that a transaction or section, or an alarm's first run, fails.
	fails       bool
	unconfirmed bool
	reverse     bool
	limit       int
}

type instrKind string

const (
	instrGet          instrKind = "get"
	instrPut          instrKind = "put"
	instrDelete       instrKind = "delete"
	instrDeleteAll    instrKind = "deleteAll"
	instrList         instrKind = "list"
	instrSetAlarm     instrKind = "setAlarm"
	instrGetAlarm     instrKind = "getAlarm"
	instrDeleteAlarm  instrKind = "deleteAlarm"
	instrSync         instrKind = "sync"
	instrCompute      instrKind = "compute" // takes time, and keeps the turn
	instrAwait        instrKind = "await"   // takes time, and gives the turn away
	instrCall         instrKind = "call"
	instrTransaction  instrKind = "transaction"
	instrBlock        instrKind = "block"
	instrBackground   instrKind = "background" // WaitUntil and Enter
	instrAbort        instrKind = "abort"
	instrPanic        instrKind = "panic"
	instrFail         instrKind = "fail"
	rollbackByMethod            = 1 // in limit: a failing transaction calls Rollback rather than returning an error
	rollbackBySilence           = 2 // in limit: it returns ErrRollback
)

func (i instr) String() string {
	text := string(i.kind)
	if i.key != "" {
		text += " " + i.key
	}
	if i.wait > 0 {
		text += " " + i.wait.String()
	}
	if i.kind == instrCall {
		text += fmt.Sprintf(" o%d", i.object)
	}
	if i.unconfirmed {
		text += " unconfirmed"
	}
	if i.fails {
		text += " failing"
	}
	if i.body != nil {
		text += " {" + i.body.String() + "}"
	}
	return text
}

const (
	objectCount = 3
	keyCount    = 4
)

// planner makes plans.
type planner struct {
	rnd *rand.Rand
	// objects is how many of the objects the plan uses.
	objects   int
	syncDelay time.Duration
}

func newPlan(seed uint64) plan {
	p := planner{rnd: rand.New(rand.NewPCG(seed, 0))}
	p.objects, p.syncDelay = 1+p.rnd.IntN(objectCount), p.between(200*time.Microsecond, 15*time.Millisecond)
	pl := plan{seed: seed, syncDelay: p.syncDelay}
	for range 10 + p.rnd.IntN(25) {
		pl.steps = append(pl.steps, p.step())
		if p.rnd.IntN(20) == 0 { // an object that is reset again and again while its writes are under way
			object := p.rnd.IntN(p.objects)
			for range 1 + p.rnd.IntN(3) {
				pl.steps = append(pl.steps, step{kind: stepCall, object: object, program: program{{kind: instrAbort}}})
			}
			pl.steps = append(pl.steps, step{kind: stepCall, object: object, program: program{{kind: instrList}}})
		}
	}
	return pl
}

func (p planner) step() step {
	switch n := p.rnd.IntN(100); {
	case n < 60:
		s := step{kind: stepCall, object: p.rnd.IntN(p.objects), program: p.program(0)}
		if p.rnd.IntN(10) == 0 {
			s.cancel = p.between(time.Microsecond, 20*time.Millisecond)
		}
		return s
	case n < 62:
		return step{kind: stepStale, object: p.rnd.IntN(p.objects), program: p.program(0)}
	case n < 81: // within which some syncs end, and others do not
		return step{kind: stepAdvance, wait: p.between(10*time.Microsecond, p.syncDelay)}
	case n < 86:
		jumps := []time.Duration{time.Second, 3 * time.Second, 11 * time.Second, 75 * time.Second, 10 * time.Minute}
		return step{kind: stepAdvance, wait: jumps[p.rnd.IntN(len(jumps))]}
	case n < 96:
		return step{kind: stepCrash, percent: p.percent()}
	case n < 98:
		return step{kind: stepDiskFault, percent: p.percent(), onWrite: p.rnd.IntN(2) == 0}
	}
	return step{kind: stepRestart}
}

// percent is a share of unsynced data: as after a power failure, a kill of the process, or in between.
func (p planner) percent() int {
	return []int{0, 0, 100, 50}[p.rnd.IntN(4)]
}

func (p planner) between(low, high time.Duration) time.Duration {
	return low + time.Duration(p.rnd.Int64N(int64(high-low)))
}

func (p planner) key() string { return fmt.Sprint("k", p.rnd.IntN(keyCount)) }

// program makes a program. Those at a greater depth are within a transaction, a section or another object's call.
func (p planner) program(depth int) program {
	pr := program{}
	for range 1 + p.rnd.IntN(6-min(depth, 3)) {
		pr = append(pr, p.instr(depth))
	}
	return pr
}

func (p planner) instr(depth int) instr {
	n := p.rnd.IntN(100)
	if depth >= 2 {
		n = p.rnd.IntN(75)
	}
	switch {
	case n < 30:
		return instr{kind: instrPut, key: p.key(), unconfirmed: p.rnd.IntN(12) == 0}
	case n < 38:
		return instr{kind: instrGet, key: p.key()}
	case n < 44:
		return instr{kind: instrDelete, key: p.key()}
	case n < 48:
		return instr{kind: instrList, reverse: p.rnd.IntN(2) == 0, limit: p.rnd.IntN(4)}
	case n < 58:
		return instr{kind: instrAwait, wait: p.between(time.Microsecond, 8*time.Millisecond)}
	case n < 66:
		return instr{kind: instrCompute, wait: p.between(time.Microsecond, 4*time.Millisecond)}
	case n < 68:
		return instr{kind: instrGetAlarm}
	case n < 71:
		return p.alarm()
	case n < 73:
		return instr{kind: instrSync}
	case n < 74:
		return instr{kind: instrDeleteAlarm}
	case n < 75:
		return instr{kind: instrFail}
	case n < 77:
		return p.alarm()
	case n < 84:
		return instr{kind: instrCall, object: p.rnd.IntN(p.objects), body: p.program(depth + 1)}
	case n < 91:
		return instr{
			kind: instrTransaction, body: p.program(depth + 1), fails: p.rnd.IntN(3) == 0, limit: p.rnd.IntN(3),
		}
	case n < 95:
		return instr{kind: instrBlock, body: p.program(depth + 1), fails: p.rnd.IntN(8) == 0}
	case n < 97:
		return instr{kind: instrBackground, body: p.program(2)}
	case n < 98:
		return instr{kind: instrDeleteAll}
	case n < 99:
		return instr{kind: instrAbort}
	}
	return instr{kind: instrPanic}
}

// alarm sets an alarm whose handler runs a program that sets none.
func (p planner) alarm() instr {
	i := instr{kind: instrSetAlarm, fails: p.rnd.IntN(4) == 0}
	for range 1 + p.rnd.IntN(3) {
		k := []instrKind{instrPut, instrPut, instrGet, instrAwait, instrCompute, instrList}[p.rnd.IntN(6)]
		i.body = append(i.body, instr{kind: k, key: p.key(), wait: p.between(time.Microsecond, 5*time.Millisecond)})
	}
	switch p.rnd.IntN(4) {
	case 0:
		i.wait = p.between(time.Second, time.Minute)
	default:
		i.wait = p.between(0, 30*time.Millisecond)
	}
	return i
}
