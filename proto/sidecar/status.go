package sidecar

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// ErrNotSent is in the chain of an *Error whose call has surely not run: it never left this process. Test
// with errors.Is; such a call may be made again, here or elsewhere, whatever it does.
var ErrNotSent = errors.New("the call was not sent")

// Texts for callers. messageDisconnected is workerd's.
const (
	messageDisconnected = "Network connection lost."
	messageCanceled     = "The call was canceled."
	messageDeadline     = "The call's deadline passed."
)

// GRPCStatus returns the status that carries e, with a CallError as its detail. With it *Error may be
// returned from gRPC handlers as it is.
func (e *Error) GRPCStatus() *status.Status {
	s := status.New(e.code(), e.Message)
	if d, err := s.WithDetails(ToCallError(e)); err == nil {
		return d
	}
	return s
}

func (e *Error) code() codes.Code {
	switch e.Reason {
	case ReasonException:
		return codes.Unknown
	case ReasonStaleEpoch:
		return codes.FailedPrecondition
	case ReasonDraining, ReasonDisconnected, ReasonUnplaced:
		return codes.Unavailable
	case ReasonOverloaded:
		return codes.ResourceExhausted
	case ReasonBroken, ReasonStorage:
		return codes.Aborted
	case ReasonNoSuchClass, ReasonNoSuchWorker:
		return codes.NotFound
	case ReasonNoSuchMethod:
		return codes.Unimplemented
	case ReasonInvalid:
		return codes.InvalidArgument
	case ReasonCanceled:
		return codes.Canceled
	case ReasonDeadline:
		return codes.DeadlineExceeded
	}
	return codes.Internal
}

// ToCallError returns the wire's form of e, which holds everything but the cause, and no properties that are too large.
func ToCallError(e *Error) *dopb.CallError {
	c := &dopb.CallError{
		Code: uint32(e.code()), Reason: e.Reason, Message: e.Message, Name: e.Name,
		Remote: e.Remote, Retryable: e.Retryable, Overloaded: e.Overloaded, DurableObjectReset: e.Reset,
		Epoch: e.Epoch,
	}
	if len(e.Properties) > 0 && len(e.Properties) <= MaxErrorPropertiesBytes {
		c.Properties = []byte(e.Properties)
	}
	return c
}

// FromCallError returns the error that the wire's form says.
func FromCallError(c *dopb.CallError) *Error {
	return &Error{
		Reason: c.GetReason(), Message: c.GetMessage(), Name: c.GetName(),
		Remote: c.GetRemote(), Retryable: c.GetRetryable(), Overloaded: c.GetOverloaded(),
		Reset: c.GetDurableObjectReset(), Epoch: c.GetEpoch(), Properties: string(c.GetProperties()),
	}
}

// FromError returns err as a caller may see it; nil for nil. An *Error in its chain is returned as it is.
// A gRPC status gives what its CallError says, or what its code means. The errors of a context become
// ReasonCanceled and ReasonDeadline. Anything else becomes an internal error with a random reference and
// err as its Cause, which whoever serves the call logs with LogInternal.
func FromError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, context.Canceled):
		return &Error{Reason: ReasonCanceled, Message: messageCanceled, Cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Reason: ReasonDeadline, Message: messageDeadline, Cause: err}
	}
	if s, ok := status.FromError(err); ok {
		return fromStatus(s, err)
	}
	return internalError(err)
}

func internalError(cause error) *Error {
	return &Error{
		Reason: ReasonInternal, Message: "internal error; reference = " + rand.Text(), Cause: cause,
	}
}

func fromStatus(s *status.Status, err error) *Error {
	for _, d := range s.Details() {
		if c, ok := d.(*dopb.CallError); ok {
			e := FromCallError(c)
			e.Cause = err
			return e
		}
	}
	e := &Error{Message: s.Message(), Cause: err}
	switch s.Code() {
	case codes.Canceled:
		e.Reason, e.Message, e.Cause = ReasonCanceled, messageCanceled, errors.Join(context.Canceled, err)
	case codes.DeadlineExceeded:
		e.Reason, e.Message = ReasonDeadline, messageDeadline
		e.Cause = errors.Join(context.DeadlineExceeded, err)
	case codes.Unavailable:
		e.Reason, e.Message, e.Retryable = ReasonDisconnected, messageDisconnected, true
	case codes.ResourceExhausted:
		e.Reason, e.Overloaded = ReasonOverloaded, true
	case codes.InvalidArgument:
		e.Reason = ReasonInvalid
	case codes.Unimplemented:
		e.Reason = ReasonNoSuchMethod
	default:
		e.Reason = ReasonInternal
	}
	return e
}

// ToStatus returns err as a gRPC handler should return it: a status that was made on purpose stays what it
// is, and everything else goes through FromError. Nil for nil. The kit's interceptors do this for every
// handler of a NewServer.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	// Only a status itself, not one in the chain: that one is another process's answer, which is internal.
	if _, ok := err.(interface{ GRPCStatus() *status.Status }); ok {
		return err
	}
	return FromError(err)
}

// LogInternal logs the cause of an internal error that arose in this process, with the reference that the
// caller was given. It does nothing for any other error.
func LogInternal(ctx context.Context, log *slog.Logger, e *Error) {
	if e == nil || e.Reason != ReasonInternal || e.Cause == nil {
		return
	}
	log.ErrorContext(ctx, "internal error", "reference", e.Message, "err", e.Cause)
}

func disconnected(cause error) *Error {
	return &Error{Reason: ReasonDisconnected, Message: messageDisconnected, Retryable: true, Cause: cause}
}

func notSent(cause error) *Error {
	if cause == nil {
		return disconnected(ErrNotSent)
	}
	return disconnected(errors.Join(ErrNotSent, cause))
}

func invalid(message string) *Error {
	return &Error{Reason: ReasonInvalid, Name: "TypeError", Message: message}
}

func overloaded(message string) *Error {
	return &Error{Reason: ReasonOverloaded, Message: message, Overloaded: true}
}
