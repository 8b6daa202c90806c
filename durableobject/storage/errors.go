package storage

import (
	"errors"
	"fmt"

	"github.com/tandem-do/tandem/proto/sidecar"
)

// Error is a fault of the code that called: a key that is too large, a limit that is not positive. It leaves
// the object as it was. Texts are those of Cloudflare's API where it has one, so that scripts see the same.
type Error struct {
	// Class is the JavaScript class that the fault has there: "TypeError", "RangeError" or "Error".
	Class string
	// Message is the text for the caller.
	Message string
}

// Error returns the message alone, as scripts see it.
func (e *Error) Error() string { return e.Message }

var (
	// ErrBroken is wrapped by every error of a store or an object that must not be used again because a commit
	// failed.
	ErrBroken = errors.New("storage is broken")
	// ErrClosed is returned by operations on a closed Object or Store. Like workerd: use after shutdown.
	ErrClosed = errors.New("Durable Object storage is no longer accessible.") // workerd's text
	// ErrRollback rolls back a transaction whose function returns it, without making Transaction fail.
	ErrRollback = errors.New("transaction rolled back")
	// ErrStaleEpoch is returned by SetEpoch for an epoch below the recorded one.
	ErrStaleEpoch = errors.New("epoch is older than the recorded one")
	// ErrReadOnly is returned by writes to a store that was opened with OpenReadOnly.
	ErrReadOnly = errors.New("opened to be read only")
	// ErrLocked is wrapped by Open's error when the directory is in use by another store.
	ErrLocked = errors.New("in use by another process")
	// ErrFormat is wrapped by Open's error when the directory was written by a newer version.
	ErrFormat = errors.New("written by a newer version")
	// ErrFull is wrapped by the error of a commit that the disk has no room for, beside ErrBroken, which then holds for
	// that object only, and by Replacement.Commit's.
	ErrFull = errors.New("disk is full")
	// ErrCorrupt is wrapped by Open's error when the directory does not hold what a store must hold.
	ErrCorrupt = errors.New("corrupt")
)

// textFull is what the callers of an object get whose commit the disk has no room for.
const textFull = "Durable Object storage is full: the write failed and caused object to be reset."

// errFull wraps ErrFull in an error for callers.
func errFull() error {
	return &sidecar.Error{Reason: sidecar.ReasonStorage, Message: textFull, Reset: true, Cause: ErrFull}
}

func typeError(message string) error {
	return &Error{Class: "TypeError", Message: message}
}

func rangeError(format string, args ...any) error {
	return &Error{Class: "RangeError", Message: fmt.Sprintf(format, args...)}
}

func plainError(format string, args ...any) error {
	return &Error{Class: "Error", Message: fmt.Sprintf(format, args...)}
}
