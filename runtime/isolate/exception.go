package isolate

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/repair"
)

// maxErrorBytes bounds the text of an error.
const maxErrorBytes = 16 << 10

// Exception is how an event ended that did not end well: the script threw, or was stopped.
type Exception struct {
	Outcome Outcome
	// Name and Message are those of an error; Name is empty when something else was thrown, and Message its text.
	Name, Message string
	// Stack is laid out as V8 does, with the first line "Name: Message", and shows the places of the source map.
	Stack string
	// Retryable, Overloaded and Reset are the properties retryable, overloaded and durableObjectReset of an error that
	// has them.
	Retryable, Overloaded, Reset bool
	// Value is what was thrown, or nil. It belongs to the isolate's goroutine.
	Value goja.Value
	// halfDone is true where the turn was stopped though it was within its limits.
	halfDone bool
}

// Error returns "Name: Message".
func (e *Exception) Error() string {
	switch {
	case e.Name == "":
		return e.Message
	case e.Message == "":
		return e.Name
	}
	return e.Name + ": " + e.Message
}

// interruption is the value of an interrupt.
type interruption struct {
	outcome Outcome
	message string
	// cause is why the isolate ends, where it does.
	cause error
}

func (e *interruption) Error() string { return e.failure().Error() }

// failure is what the event that was interrupted fails with.
func (e *interruption) failure() error {
	if e.cause != nil {
		return e.cause
	}
	return outcomeException(e.outcome, e.message)
}

func outcomeException(o Outcome, message string) *Exception {
	return &Exception{Outcome: o, Name: "Error", Message: message, Stack: "Error: " + message}
}

// hungText is workerd's.
const hungText = "The Workers runtime canceled this request because it detected that your Worker's code had hung and " +
	"would never generate a response. Refer to: https://developers.cloudflare.com/workers/observability/errors/"

func newHungError() *Exception     { return outcomeException(OutcomeException, hungText) }
func newCanceledError() *Exception { return outcomeException(OutcomeCanceled, errCanceled.Error()) }
func newInternalError() *Exception {
	return outcomeException(OutcomeInternalError, "internal error: the JavaScript engine failed")
}

// newFalsePromise is how an event ends that falsePromise is true of.
func newFalsePromise() *Exception {
	const text = "An object was awaited that is no promise, though its constructor is Promise."
	return &Exception{Outcome: OutcomeException, Name: "TypeError", Message: text, Stack: "TypeError: " + text, halfDone: true}
}

// falsePromise reports whether the engine panicked because it was to await an object that is no promise but whose
// constructor is Promise, such as a Proxy of one: it takes that for a promise. Nothing was changed by then.
func falsePromise(fault any) bool {
	e, ok := fault.(*runtime.TypeAssertionError)
	return ok && strings.HasSuffix(e.Error(), ", not *goja.Promise")
}

// uncatchable reports whether err is one that no code of the script's can catch.
func uncatchable(err error) bool {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	return errors.As(err, &interrupted) || errors.As(err, &overflow)
}

// exceptionOf turns what the engine returns into *Exception and leaves other errors as they are.
func (i *Isolate) exceptionOf(err error) error {
	if err == nil {
		return nil
	}
	return i.newExceptionOf(err)
}

func (i *Isolate) newExceptionOf(err error) error {
	var known *Exception
	var stopped *interruption
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	var thrown *goja.Exception
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &stopped):
		return stopped.failure()
	case errors.As(err, &interrupted):
		return outcomeException(OutcomeCanceled, "the event was interrupted")
	case errors.As(err, &overflow):
		x := &Exception{Outcome: OutcomeException, Name: "RangeError", Message: "Maximum call stack size exceeded"}
		x.Stack = x.Error() + stackText(overflow.Stack(), maxFrames)
		return x
	case errors.As(err, &thrown):
		return i.NewException(thrown.Value())
	}
	return err
}

// NewException describes a thrown value. It never runs conversions of the script's own but for getters.
func (i *Isolate) NewException(v goja.Value) *Exception {
	x := &Exception{Outcome: OutcomeException, Value: v}
	if i.rt.Try(func() { i.describe(x, v) }) != nil {
		x.Message = "an error whose properties cannot be read"
	}
	x.Message = bounded(x.Message, maxErrorBytes)
	if x.Stack == "" {
		x.Stack = x.Error()
	}
	return x
}

func (i *Isolate) describe(x *Exception, v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok {
		x.Message = "undefined"
		if v != nil {
			x.Message = v.String()
		}
		return
	}
	message, isText := o.Get("message").(goja.String)
	name, named := o.Get("name").(goja.String)
	if !isText && o.ClassName() != "Error" {
		x.Message = "#<" + o.ClassName() + ">"
		return
	}
	set := func(property string) bool {
		v := o.Get(property)
		return v != nil && v.ToBoolean()
	}
	x.Retryable, x.Overloaded, x.Reset = set("retryable"), set("overloaded"), set("durableObjectReset")
	x.Name = "Error"
	if named {
		x.Name = bounded(name.String(), maxErrorBytes)
	}
	if isText {
		x.Message = v8Message(message.String())
	}
	if stack, ok := o.Get("stack").(goja.String); ok {
		x.Stack = bounded(V8Stack(stack.String()), maxErrorBytes)
	}
}

// maxFrames is V8's Error.stackTraceLimit.
const maxFrames = 10

// V8Stack lays a stack trace of the engine out as V8 does. What is laid out so already stays as it is.
func V8Stack(stack string) string {
	head, trace, ok := strings.Cut(stack, "\n\tat ")
	if !ok {
		return strings.TrimRight(stack, "\n")
	}
	var b strings.Builder
	b.WriteString(v8Head(head))
	n := 0
	for line := range strings.SplitSeq(trace, "\n\tat ") {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, internalPrefix) || strings.Contains(line, "("+internalPrefix) {
			continue
		}
		if n++; n > maxFrames {
			break
		}
		b.WriteString("\n    at ")
		b.WriteString(v8Frame(line))
	}
	return b.String()
}

// internalPrefix begins the names of the runtime's own scripts, which are not shown in traces.
const internalPrefix = repair.FramePrefix

// v8Frame takes the engine's program counter off: "f (file:1:2(7))" is "f (file:1:2)".
func v8Frame(line string) string {
	inner, closed := strings.CutSuffix(line, "))")
	if !closed {
		inner, closed = strings.CutSuffix(line, ")")
		if open := strings.LastIndexByte(inner, '('); closed && open > 0 && digits(inner[open+1:]) {
			return inner[:open]
		}
		return line
	}
	if open := strings.LastIndexByte(inner, '('); open > 0 && digits(inner[open+1:]) {
		return inner[:open] + ")"
	}
	return line
}

func digits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

func stackText(frames []goja.StackFrame, limit int) string {
	var b strings.Builder
	for n, f := range frames {
		if n >= limit {
			break
		}
		p := f.Position()
		if f.SrcName() == "<native>" {
			fmt.Fprintf(&b, "\n    at %s (native)", f.FuncName())
		} else {
			fmt.Fprintf(&b, "\n    at %s (%s:%d:%d)", f.FuncName(), p.Filename, p.Line, p.Column)
		}
	}
	return b.String()
}

// Throw throws an error of a global class, such as "TypeError". It panics, for the engine to catch.
func (i *Isolate) Throw(class, format string, args ...any) {
	panic(i.NewError(class, fmt.Sprintf(format, args...)))
}

// NewError makes an error of a global class.
func (i *Isolate) NewError(class, message string) *goja.Object {
	c, ok := i.functions.errors[class]
	if !ok {
		c = i.functions.errors["Error"]
	}
	e, err := i.rt.New(c, i.rt.ToValue(message))
	if err != nil {
		panic(err)
	}
	return e
}

// ThrownValue returns what a promise is rejected with for an error: what a script threw, or an Error with its text.
func (i *Isolate) ThrownValue(err error) goja.Value {
	var thrown *goja.Exception
	var x *Exception
	switch {
	case errors.As(err, &thrown):
		return thrown.Value()
	case errors.As(err, &x) && x.Value != nil:
		return x.Value
	}
	return i.NewError("Error", err.Error())
}

// bounded cuts text at a limit, between two characters, and says so.
func bounded(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "… (cut)"
}
