package lease

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/router/placement"
)

const (
	keyFormat       = "format"
	keyEpoch        = "epoch"
	prefixLease     = "lease/"
	prefixPlacement = "placement/"
)

func encodeEpoch(epoch uint64) []byte { return binary.BigEndian.AppendUint64(nil, epoch) }

func placementKey(slot placement.Slot) string {
	return prefixPlacement + slot.Namespace + "\x00" + string(binary.BigEndian.AppendUint32(nil, slot.Number))
}

func encodeRecord(rec Record) []byte {
	b, err := json.Marshal(rec)
	if err != nil {
		panic(fmt.Sprintf("lease: encode a record: %v", err)) // it has no type that JSON refuses
	}
	return b
}

// loadKey takes one key of the store; isFormat tells that it was the format version.
func (s *Store) loadKey(key string, value []byte) (isFormat bool, err error) {
	if key == keyFormat {
		if string(value) != formatVersion {
			return true, fmt.Errorf("its format version is %q, this program knows %q", value, formatVersion)
		}
		return true, nil
	}
	if key == keyEpoch {
		if len(value) != 8 {
			return false, fmt.Errorf("its epoch has %d bytes", len(value))
		}
		s.epoch = binary.BigEndian.Uint64(value)
		return false, nil
	}
	if hostID, ok := strings.CutPrefix(key, prefixLease); ok {
		return false, s.loadLease(hostID, value)
	}
	if slot, ok := strings.CutPrefix(key, prefixPlacement); ok {
		return false, s.loadPlacement(slot, string(value))
	}
	return false, fmt.Errorf("it has an unknown key %q", key)
}

func (s *Store) loadLease(hostID string, value []byte) error {
	var rec Record
	if err := json.Unmarshal(value, &rec); err != nil {
		return fmt.Errorf("the lease of host %q: %w", hostID, err)
	}
	if rec.HostID != hostID {
		return fmt.Errorf("the lease of host %q names host %q", hostID, rec.HostID)
	}
	s.leases[hostID] = rec
	return nil
}

func (s *Store) loadPlacement(key, hostID string) error {
	namespace, number, ok := strings.Cut(key, "\x00")
	if !ok || len(number) != 4 {
		return fmt.Errorf("it has a malformed placement key %q", key)
	}
	slot := placement.Slot{Namespace: namespace, Number: binary.BigEndian.Uint32([]byte(number))}
	if slot.Number >= objectid.Slots {
		return fmt.Errorf("it places slot %d, the last one is %d", slot.Number, objectid.Slots-1)
	}
	s.placements[slot] = hostID
	return nil
}
