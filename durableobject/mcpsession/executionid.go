package mcpsession

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/google/uuid"
)

const executionPrefix = "exec_"

// maxPauses bounds the pauses of one execution.
const maxPauses = 1000

var errExecutionID = errors.New("not an execution id")

// executionID names one pause of one execution: "exec_" and a UUID of version 8.
//
//	bytes 0..9    74 random bits, version and variant: the execution's base
//	bytes 10..15  the number of the pause, big endian; 0 is the execution itself
//
// The base names the object, so a resume finds it from the id alone. The number tells a resume of one pause from that
// of the next, so a resent approval never approves another call.
type executionID uuid.UUID

// newExecutionID returns the id of a new execution.
func newExecutionID() executionID {
	u := uuid.New() // from crypto/rand
	u[6] = u[6]&0x0f | 0x80
	clear(u[10:])
	return executionID(u)
}

// parseExecutionID reads what String wrote, in the canonical form only.
func parseExecutionID(s string) (executionID, error) {
	text, ok := strings.CutPrefix(s, executionPrefix)
	if !ok {
		return executionID{}, errExecutionID
	}
	u, err := uuid.Parse(text)
	if err != nil || u.Version() != 8 || u.Variant() != uuid.RFC4122 || u.String() != text {
		return executionID{}, errExecutionID
	}
	return executionID(u), nil
}

// String returns the id as clients see it.
func (id executionID) String() string { return executionPrefix + uuid.UUID(id).String() }

// Pause returns the number of the pause.
func (id executionID) Pause() uint64 {
	return uint64(binary.BigEndian.Uint16(id[10:12]))<<32 | uint64(binary.BigEndian.Uint32(id[12:16]))
}

// At returns the id of another pause of the same execution.
func (id executionID) At(pause uint64) executionID {
	binary.BigEndian.PutUint16(id[10:12], uint16(pause>>32))
	binary.BigEndian.PutUint32(id[12:16], uint32(pause))
	return id
}

// Base returns the name of the execution's object.
func (id executionID) Base() string { return id.At(0).String() }
