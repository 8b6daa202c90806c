package storage

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/tandem-do/tandem/proto/objectid"
)

// The layout of keys. ID is 32 bytes, due 8 bytes, big-endian, milliseconds since 1970.
//
//	00 "epoch"                       the host's epoch, 8 bytes, big-endian
//	01 namespace 00 ID 01            the object's name
//	01 namespace 00 ID 02            its alarm, an alarmRecord
//	01 namespace 00 ID 10 key        the value of one key
//	02 due namespace 00 ID           index of alarms; the same alarmRecord
const (
	spaceMeta   = 0x00
	spaceObject = 0x01
	spaceAlarm  = 0x02

	kindName  = 0x01
	kindAlarm = 0x02
	kindValue = 0x10

	maxNamespaceBytes = 512
	// spareKeyBytes is room behind an object's prefix in which keys of usual length are put together.
	spareKeyBytes = 48
)

var metaEpoch = []byte("\x00epoch")

func validNamespace(namespace string) bool {
	return namespace != "" && len(namespace) <= maxNamespaceBytes && strings.IndexByte(namespace, 0) < 0
}

// namespacePrefix returns what all keys of a namespace's objects begin with.
func namespacePrefix(namespace string, extra int) []byte {
	p := make([]byte, 0, len(namespace)+2+extra)
	p = append(p, spaceObject)
	p = append(p, namespace...)
	return append(p, 0)
}

// objectPrefix returns what all keys of an object begin with, with room for the rest of a key behind it.
func objectPrefix(namespace string, id objectid.ID) []byte {
	return append(namespacePrefix(namespace, objectid.Size+spareKeyBytes), id[:]...)
}

// splitObjectKey takes a key of the object space apart; rest begins with the kind.
func splitObjectKey(key []byte) (namespace string, id objectid.ID, rest []byte, ok bool) {
	if len(key) == 0 || key[0] != spaceObject {
		return "", id, nil, false
	}
	namespace, id, rest, ok = splitOwner(key[1:])
	return namespace, id, rest, ok && len(rest) > 0
}

func alarmIndexKey(due int64, namespace string, id objectid.ID) []byte {
	k := make([]byte, 0, 1+8+len(namespace)+1+objectid.Size)
	k = append(k, spaceAlarm)
	k = binary.BigEndian.AppendUint64(k, uint64(due))
	k = append(k, namespace...)
	k = append(k, 0)
	return append(k, id[:]...)
}

func splitAlarmKey(key []byte) (due int64, namespace string, id objectid.ID, ok bool) {
	if len(key) < 9 || key[0] != spaceAlarm {
		return 0, "", id, false
	}
	due = int64(binary.BigEndian.Uint64(key[1:]))
	namespace, id, rest, ok := splitOwner(key[9:])
	return due, namespace, id, ok && len(rest) == 0 && due >= 0
}

// splitOwner reads `namespace 00 ID` and returns what follows.
func splitOwner(b []byte) (namespace string, id objectid.ID, rest []byte, ok bool) {
	end := bytes.IndexByte(b, 0)
	if end < 1 || end > maxNamespaceBytes || len(b) < end+1+objectid.Size {
		return "", id, nil, false
	}
	copy(id[:], b[end+1:])
	return string(b[:end]), id, b[end+1+objectid.Size:], true
}

// alarmRecord is an object's alarm on disk. Times are milliseconds since 1970.
type alarmRecord struct {
	token            uint64 // random; tells an alarm from a later one with the same time
	scheduled, due   int64
	retries, counted uint32
}

const alarmRecordBytes = 32

func (r alarmRecord) encode() []byte {
	b := make([]byte, 0, alarmRecordBytes)
	b = binary.BigEndian.AppendUint64(b, r.token)
	b = binary.BigEndian.AppendUint64(b, uint64(r.scheduled))
	b = binary.BigEndian.AppendUint64(b, uint64(r.due))
	b = binary.BigEndian.AppendUint32(b, r.retries)
	return binary.BigEndian.AppendUint32(b, r.counted)
}

func decodeAlarmRecord(b []byte) (r alarmRecord, ok bool) {
	if len(b) != alarmRecordBytes {
		return r, false
	}
	r.token = binary.BigEndian.Uint64(b)
	r.scheduled = int64(binary.BigEndian.Uint64(b[8:]))
	r.due = int64(binary.BigEndian.Uint64(b[16:]))
	r.retries = binary.BigEndian.Uint32(b[24:])
	r.counted = binary.BigEndian.Uint32(b[28:])
	return r, r.scheduled >= 0 && r.due >= 0
}
