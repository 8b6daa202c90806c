package archive

import (
	"errors"
	"time"

	"github.com/tandem-do/tandem/proto/objectid"
)

// Version is the version that Writer writes, and the newest that Reader reads.
const Version = 1

// Limits of one record.
const (
	// MaxKeyBytes is the longest key.
	MaxKeyBytes = 65535
	// MaxValueBytes is the longest value.
	MaxValueBytes = 64<<20 + 1024

	maxNamespaceBytes = 512
	magic             = "tandemobj"
)

// The kinds of records.
const (
	kindHeader = 'H'
	kindAlarm  = 'A'
	kindKey    = 'K'
	kindEnd    = 'Z'
)

// ErrFormat is wrapped by every error of a Reader that is about the data: not an archive, damaged, cut short, or of a
// newer version.
var ErrFormat = errors.New("not a whole archive of an object")

// Header says which object an archive is of.
type Header struct {
	// Namespace is the unique key of the object's namespace, ID the object.
	Namespace string
	ID        objectid.ID
	// Name is the name that the object is addressed by; HasName says whether it is known.
	Name    string
	HasName bool
}

// Alarm is the object's alarm.
type Alarm struct {
	// ScheduledTime is the time that was set, Due when the next run is due; in whole milliseconds.
	ScheduledTime, Due time.Time
	// Retries is how many runs have failed, Counted how many of those count against the limit.
	Retries, Counted int
}

// Record is one part of an archive after its header: either an alarm or a key.
type Record struct {
	// Alarm is set for an alarm.
	Alarm *Alarm
	// Key and Value are a key with its value, if Alarm is nil. The value is the caller's until the next record is
	// read.
	Key   string
	Value []byte
}
