package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
)

// Version is that of the frames. A child names it in Ready; both ends are the same executable, so they
// differ only when that was replaced under a running sandbox.
const Version = 3

// ErrMalformed says that bytes are not a frame.
var ErrMalformed = errors.New("malformed frame")

// Message is one of *Ready, *Start, *Result, *Clock, *Abandon, *Call, *Log, *Emit and *Done.
type Message interface {
	kind() kind
	append(b []byte) []byte
	parse(p *parser)
}

type kind byte

const (
	kindReady kind = iota + 1
	kindStart
	kindResult
	kindCall
	kindLog
	kindEmit
	kindDone
	kindClock
	kindAbandon
)

// Limits bound a program, as far as the child itself enforces them.
type Limits struct {
	// CPU is the processor time.
	CPU time.Duration
	// MemoryBytes is the size of the program's heap.
	MemoryBytes uint64
	// ResultBytes is the size of the result, and that of the logs and emitted values together.
	ResultBytes uint64
	// PendingToolCalls is how many calls may be under way at once.
	PendingToolCalls uint64
}

// Ready is a child's first frame: it takes programs.
type Ready struct {
	// Version is the child's frame version.
	Version uint64
	// Protections are what stands between a program and the machine, at most maxProtections.
	Protections []Protection
}

// Protection is one of the things that stand between a program and the machine, where the machine allows it.
type Protection struct {
	// Name is what it is.
	Name string
	// Off is why it is not there; empty when it is.
	Off string
}

// maxProtections bounds what a child says of itself.
const maxProtections = 32

// Start has a child run a program. The child takes the next only after it has sent Done.
type Start struct {
	// Run numbers the programs of one child.
	Run uint64
	// Code is the program as its author sent it.
	Code string
	// Limits bound it.
	Limits Limits
	// Seed is what its randomness comes from.
	Seed []byte
	// StartedMS is what its clock says when it starts, in milliseconds since 1970.
	StartedMS uint64
	// Replay is the order of what happened to it when it ran before; the zero value for one that starts afresh.
	Replay Replay
}

// Replay leads a program to the place where it was before.
type Replay struct {
	// Taken are the results that it went on with, in order.
	Taken []Taken
	// Timers is how many timers had fired at its last call.
	Timers uint64
}

// Taken says when a program went on with a result.
type Taken struct {
	// CallID names the call.
	CallID uint64
	// Timers is how many timers had fired before.
	Timers uint64
	// Active is the program's time then.
	Active time.Duration
}

// Result settles a call of a program.
type Result struct {
	// Run is the program's number; a result for another one is dropped.
	Run uint64
	// CallID names the call.
	CallID uint64
	// Thrown is true when the call throws an Error with Value as its message, false when it resolves to
	// the JSON value in Value.
	Thrown bool
	// Value is JSON or a message.
	Value []byte
	// UnixMS is when the call was settled, in milliseconds since 1970; 0 when that is not known.
	UnixMS uint64
}

// Clock stops the clock of a program, and with it its timers, or lets it run on.
type Clock struct {
	// Run is the program's number; a clock for another one is dropped.
	Run uint64
	// Stopped is true to stop it.
	Stopped bool
}

// Abandon has a program end as soon as it waits, since nobody wants to know what it comes to. Done follows.
type Abandon struct {
	// Run is the program's number; another one goes on.
	Run uint64
}

// Call is a call on the program's tools.
type Call struct {
	// CallID rises by one from 1 within a program.
	CallID uint64
	// Path is the property path below tools, joined by dots.
	Path string
	// Arguments is the first argument as JSON, or empty when there was none.
	Arguments []byte
	// Taken are the results that the program went on with since its last call, in order.
	Taken []Taken
	// Timers is how many of its timers have fired.
	Timers uint64
}

// Log is one line of the console.
type Log struct {
	// Line is the text, which may itself hold line feeds.
	Line string
}

// Emit is one value given to emit.
type Emit struct {
	// Value is its JSON.
	Value []byte
}

// Done is how the program ended.
type Done struct {
	// Outcome says how.
	Outcome sandboxpb.Outcome
	// Result is the returned value as JSON; empty for undefined.
	Result []byte
	// IsString is true when the value is a string.
	IsString bool
	// Error is the message; empty when the program completed.
	Error string
	// CPU is the processor time that it used.
	CPU time.Duration
	// Reusable is true when the child waits for the next program; otherwise it ends.
	Reusable bool
}

func (*Ready) kind() kind   { return kindReady }
func (*Start) kind() kind   { return kindStart }
func (*Result) kind() kind  { return kindResult }
func (*Clock) kind() kind   { return kindClock }
func (*Abandon) kind() kind { return kindAbandon }
func (*Call) kind() kind    { return kindCall }
func (*Log) kind() kind     { return kindLog }
func (*Emit) kind() kind    { return kindEmit }
func (*Done) kind() kind    { return kindDone }

func (m *Ready) append(b []byte) []byte {
	b = binary.AppendUvarint(b, m.Version)
	b = binary.AppendUvarint(b, uint64(len(m.Protections)))
	for _, p := range m.Protections {
		b = appendBytes(appendBytes(b, p.Name), p.Off)
	}
	return b
}

func (m *Ready) parse(p *parser) {
	m.Version = p.number()
	n := p.number()
	if n > maxProtections {
		p.fail("too many protections")
	}
	for range min(n, maxProtections) {
		m.Protections = append(m.Protections, Protection{Name: string(p.bytes()), Off: string(p.bytes())})
	}
}

func (m *Start) append(b []byte) []byte {
	b = binary.AppendUvarint(b, m.Run)
	b = binary.AppendUvarint(b, uint64(max(0, m.Limits.CPU)))
	b = binary.AppendUvarint(b, m.Limits.MemoryBytes)
	b = binary.AppendUvarint(b, m.Limits.ResultBytes)
	b = binary.AppendUvarint(b, m.Limits.PendingToolCalls)
	b = appendBytes(b, m.Code)
	b = appendBytes(b, m.Seed)
	b = binary.AppendUvarint(b, m.StartedMS)
	b = appendTaken(b, m.Replay.Taken)
	return binary.AppendUvarint(b, m.Replay.Timers)
}

func (m *Start) parse(p *parser) {
	m.Run = p.number()
	m.Limits.CPU = p.duration()
	m.Limits.MemoryBytes = p.number()
	m.Limits.ResultBytes = p.number()
	m.Limits.PendingToolCalls = p.number()
	m.Code = string(p.bytes())
	m.Seed = p.bytes()
	m.StartedMS = p.number()
	m.Replay.Taken = p.taken()
	m.Replay.Timers = p.number()
}

func (m *Result) append(b []byte) []byte {
	b = binary.AppendUvarint(b, m.Run)
	b = binary.AppendUvarint(b, m.CallID)
	b = appendBool(b, m.Thrown)
	b = appendBytes(b, m.Value)
	return binary.AppendUvarint(b, m.UnixMS)
}

func (m *Result) parse(p *parser) {
	m.Run = p.number()
	m.CallID = p.number()
	m.Thrown = p.bool()
	m.Value = p.bytes()
	m.UnixMS = p.number()
}

func (m *Clock) append(b []byte) []byte {
	return appendBool(binary.AppendUvarint(b, m.Run), m.Stopped)
}

func (m *Clock) parse(p *parser) {
	m.Run = p.number()
	m.Stopped = p.bool()
}

func (m *Abandon) append(b []byte) []byte { return binary.AppendUvarint(b, m.Run) }
func (m *Abandon) parse(p *parser)        { m.Run = p.number() }

func (m *Call) append(b []byte) []byte {
	b = binary.AppendUvarint(b, m.CallID)
	b = appendBytes(b, m.Path)
	b = appendBytes(b, m.Arguments)
	b = appendTaken(b, m.Taken)
	return binary.AppendUvarint(b, m.Timers)
}

func (m *Call) parse(p *parser) {
	m.CallID = p.number()
	m.Path = string(p.bytes())
	m.Arguments = p.bytes()
	m.Taken = p.taken()
	m.Timers = p.number()
}

func (m *Log) append(b []byte) []byte { return appendBytes(b, m.Line) }
func (m *Log) parse(p *parser)        { m.Line = string(p.bytes()) }

func (m *Emit) append(b []byte) []byte { return appendBytes(b, m.Value) }
func (m *Emit) parse(p *parser)        { m.Value = p.bytes() }

func (m *Done) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(m.Outcome))
	b = appendBytes(b, m.Result)
	b = appendBool(b, m.IsString)
	b = appendBytes(b, m.Error)
	b = binary.AppendUvarint(b, uint64(max(0, m.CPU)))
	return appendBool(b, m.Reusable)
}

func (m *Done) parse(p *parser) {
	outcome := p.number()
	if _, known := sandboxpb.Outcome_name[int32(min(outcome, 1<<16))]; !known || outcome == 0 {
		p.fail("unknown outcome")
	}
	m.Outcome = sandboxpb.Outcome(min(outcome, 1<<16))
	m.Result = p.bytes()
	m.IsString = p.bool()
	m.Error = string(p.bytes())
	m.CPU = p.duration()
	m.Reusable = p.bool()
}

func newMessage(k kind) (Message, error) {
	switch k {
	case kindReady:
		return new(Ready), nil
	case kindStart:
		return new(Start), nil
	case kindResult:
		return new(Result), nil
	case kindCall:
		return new(Call), nil
	case kindLog:
		return new(Log), nil
	case kindEmit:
		return new(Emit), nil
	case kindDone:
		return new(Done), nil
	case kindClock:
		return new(Clock), nil
	case kindAbandon:
		return new(Abandon), nil
	default:
		return nil, fmt.Errorf("%w: unknown kind %d", ErrMalformed, k)
	}
}
