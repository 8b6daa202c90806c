package sidecar

import dopb "github.com/tandem-do/tandem/proto/durableobject/v1"

// Reason tells apart the errors that a caller must treat differently.
type Reason = dopb.ErrorReason

// The reasons, named as Go code says them.
const (
	ReasonInternal     = dopb.ErrorReason_ERROR_REASON_UNSPECIFIED
	ReasonException    = dopb.ErrorReason_ERROR_REASON_EXCEPTION
	ReasonStaleEpoch   = dopb.ErrorReason_ERROR_REASON_STALE_EPOCH
	ReasonDraining     = dopb.ErrorReason_ERROR_REASON_DRAINING
	ReasonOverloaded   = dopb.ErrorReason_ERROR_REASON_OVERLOADED
	ReasonBroken       = dopb.ErrorReason_ERROR_REASON_BROKEN
	ReasonNoSuchClass  = dopb.ErrorReason_ERROR_REASON_NO_SUCH_CLASS
	ReasonNoSuchMethod = dopb.ErrorReason_ERROR_REASON_NO_SUCH_METHOD
	ReasonInvalid      = dopb.ErrorReason_ERROR_REASON_INVALID
	ReasonDisconnected = dopb.ErrorReason_ERROR_REASON_DISCONNECTED
	ReasonUnplaced     = dopb.ErrorReason_ERROR_REASON_UNPLACED
	ReasonCanceled     = dopb.ErrorReason_ERROR_REASON_CANCELED
	ReasonDeadline     = dopb.ErrorReason_ERROR_REASON_DEADLINE
	ReasonStorage      = dopb.ErrorReason_ERROR_REASON_STORAGE
	ReasonNoSuchWorker = dopb.ErrorReason_ERROR_REASON_NO_SUCH_WORKER
)

// MaxErrorPropertiesBytes bounds Error.Properties; what is larger does not cross the wire.
const MaxErrorPropertiesBytes = 16 << 10

// Error is an error of a call as the caller's script sees it, with the properties that workerd sets.
// It is the only kind of error that crosses the wire; every other one is an internal error there, whose
// cause stays in the log of the process where it arose.
type Error struct {
	// Reason says what kind of error it is.
	Reason Reason
	// Name is the error's class, such as "TypeError"; empty means "Error".
	Name string
	// Message is the text for the caller.
	Message string
	// Remote is true when the error arose in the object's own code.
	Remote bool
	// Retryable is true when the same call may succeed if made again.
	Retryable bool
	// Overloaded is true when the object could not take the call.
	Overloaded bool
	// Reset is true when the instance was discarded; "durableObjectReset" to scripts.
	Reset bool
	// Properties are further properties as one serialized object (V8 format), at most MaxErrorPropertiesBytes; empty
	// when there are none.
	Properties string
	// Epoch is the host's own epoch, with ReasonStaleEpoch.
	Epoch uint64
	// Cause is the error behind it in this process; it never crosses the wire.
	Cause error
}

// Error returns the message alone, as scripts see it.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }
