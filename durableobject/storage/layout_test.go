package storage

import (
	"bytes"
	"testing"

	"github.com/tandem-do/tandem/proto/objectid"
)

// Keys come apart as they were put together, and no object's keys lie in another's range.
func FuzzObjectKey(f *testing.F) {
	f.Add("w-Class", []byte("id"), "key", "w-Clas", []byte("other"))
	f.Add("a", []byte{0}, "", "a\x01", []byte{0xff})
	f.Add("a", []byte{0xff}, "\x00\xff", "a", []byte{0xff, 0})
	f.Fuzz(func(t *testing.T, namespace string, idBytes []byte, key, otherNamespace string, otherID []byte) {
		if !validNamespace(namespace) || !validNamespace(otherNamespace) {
			t.Skip()
		}
		var id, id2 objectid.ID
		copy(id[:], idBytes)
		copy(id2[:], otherID)
		encoded := append(append(objectPrefix(namespace, id), kindValue), key...)
		gotNamespace, gotID, rest, ok := splitObjectKey(encoded)
		if !ok || gotNamespace != namespace || gotID != id || string(rest) != "\x10"+key {
			t.Fatalf("got %q %v %q %v", gotNamespace, gotID, rest, ok)
		}
		if bytes.Compare(encoded, afterObject(namespace, id)) >= 0 ||
			bytes.Compare(encoded, afterNamespace(namespace)) >= 0 {
			t.Fatal("key is past its object's or namespace's end")
		}
		same := namespace == otherNamespace && id == id2
		if within := bytes.HasPrefix(encoded, objectPrefix(otherNamespace, id2)); within != same {
			t.Fatalf("key of %q %v is within %q %v: %v", namespace, id, otherNamespace, id2, within)
		}
	})
}

// Arbitrary bytes never crash a decoder, and what it accepts encodes to the same bytes.
func FuzzDecode(f *testing.F) {
	f.Add(append(objectPrefix("w-Class", objectid.ID{1}), kindName))
	f.Add(alarmIndexKey(12345, "w-Class", objectid.ID{2}))
	f.Add(alarmRecord{token: 1, scheduled: 2, due: 3, retries: 4, counted: 5}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if namespace, id, rest, ok := splitObjectKey(b); ok {
			if again := append(objectPrefix(namespace, id), rest...); !bytes.Equal(again, b) {
				t.Errorf("object key %q became %q", b, again)
			}
		}
		if due, namespace, id, ok := splitAlarmKey(b); ok {
			if again := alarmIndexKey(due, namespace, id); !bytes.Equal(again, b) {
				t.Errorf("alarm key %q became %q", b, again)
			}
		}
		if r, ok := decodeAlarmRecord(b); ok && !bytes.Equal(r.encode(), b) {
			t.Errorf("alarm record %q became %q", b, r.encode())
		}
	})
}

// The index is in the order of due times.
func FuzzAlarmOrder(f *testing.F) {
	f.Add(int64(1), int64(256), "a", "b")
	f.Fuzz(func(t *testing.T, a, b int64, namespaceA, namespaceB string) {
		if a < 0 || b < 0 || a == b {
			t.Skip()
		}
		order := bytes.Compare(alarmIndexKey(a, namespaceA, objectid.ID{}), alarmIndexKey(b, namespaceB, objectid.ID{}))
		if (order < 0) != (a < b) {
			t.Errorf("due times %d and %d sort as %d", a, b, order)
		}
	})
}
