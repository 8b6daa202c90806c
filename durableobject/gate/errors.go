package gate

import (
	"errors"

	"github.com/tandem-do/tandem/proto/sidecar"
)

// The texts that scripts know from workerd. They are part of the contract: people match on them.
const (
	// textSectionTimeout is the message of a critical section that was open for too long. Like workerd:
	// io/worker.c++.
	textSectionTimeout = "A call to blockConcurrencyWhile() in a Durable Object waited for too long. " +
		"The call was canceled and the Durable Object was reset."
	// textTooDeep is the message of a critical section within MaxDepth others.
	textTooDeep = "blockConcurrencyWhile() calls are nested too deeply."
	// textCommitTimeout is the message of a commit that took too long.
	textCommitTimeout = "Durable Object storage operation exceeded timeout which caused object to be reset."
	// textCommitFailed is the message of a commit that failed. The cause, such as a full disk, is none of the
	// caller's business; it is in the error's Cause and so in the host's log.
	textCommitFailed = "Internal error in Durable Object storage write caused object to be reset."
	// textQueueFull is the message of an event that found MaxWaiting others waiting.
	textQueueFull = "Durable Object is overloaded. Too many requests queued."
)

// errSectionTimeout is how a gate breaks when a section stays open for SectionTimeout. It counts as overload,
// since whoever waits long on something outside usually waits for someone who is.
func errSectionTimeout() *sidecar.Error {
	return &sidecar.Error{
		Reason: sidecar.ReasonBroken, Message: textSectionTimeout, Overloaded: true, Reset: true,
	}
}

// errTooDeep is how a gate breaks when sections nest deeper than MaxDepth, which only endless recursion does.
func errTooDeep() *sidecar.Error {
	return &sidecar.Error{Reason: sidecar.ReasonBroken, Message: textTooDeep, Reset: true}
}

// errCommitTimeout is how an output gate breaks when a commit takes longer than CommitTimeout.
func errCommitTimeout() *sidecar.Error {
	return &sidecar.Error{
		Reason: sidecar.ReasonStorage, Message: textCommitTimeout, Overloaded: true, Reset: true,
	}
}

// CommitFailed returns how an output gate breaks when a commit fails. An error that was made for the caller, such as a
// constraint that the object's own data violates, keeps its text; any other is hidden behind a general one.
func CommitFailed(cause error) *sidecar.Error {
	var known *sidecar.Error
	if errors.As(cause, &known) {
		e := *known
		e.Reset = true
		return &e
	}
	return &sidecar.Error{
		Reason: sidecar.ReasonStorage, Message: textCommitFailed, Reset: true, Cause: cause,
	}
}

// errQueueFull is what an event gets that may not even wait. The gate stays whole.
func errQueueFull() *sidecar.Error {
	return &sidecar.Error{Reason: sidecar.ReasonOverloaded, Message: textQueueFull, Overloaded: true}
}

// Reset returns err as the callers of an object see it when the object was reset because of it: the same name, text
// and properties, with Reset set. It is not Remote, for the instance that raised it is gone. Like workerd:
// constructors, critical sections and abort.
func Reset(err error) *sidecar.Error {
	e := sidecar.Error{Reason: sidecar.ReasonBroken, Name: "Error", Message: err.Error(), Cause: err}
	var known *sidecar.Error
	if errors.As(err, &known) {
		e.Name = known.Name
		e.Retryable, e.Overloaded = known.Retryable, known.Overloaded
	}
	e.Reset = true
	return &e
}
