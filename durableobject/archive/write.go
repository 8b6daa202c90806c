package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Writer writes one archive. It writes many small pieces: give it something that collects them.
type Writer struct {
	out  io.Writer
	sum  hash.Hash
	buf  []byte
	keys uint64
	last string
}

// NewWriter begins an archive.
func NewWriter(out io.Writer, h Header) (*Writer, error) {
	w := &Writer{out: out, sum: sha256.New()}
	w.buf = append(w.buf, h.Namespace...)
	w.buf = append(w.buf, 0)
	w.buf = append(w.buf, h.ID[:]...)
	if h.HasName {
		w.buf = append(append(w.buf, 1), h.Name...)
	} else {
		w.buf = append(w.buf, 0)
	}
	if _, err := parseHeader(w.buf); err != nil {
		return nil, err
	}
	if err := w.write(append([]byte(magic), Version)); err != nil {
		return nil, err
	}
	return w, w.record(kindHeader, w.buf, nil)
}

// Alarm writes the alarm. It comes before the keys, at most once.
func (w *Writer) Alarm(a Alarm) error {
	w.buf = binary.AppendUvarint(w.buf[:0], uint64(a.ScheduledTime.UnixMilli()))
	w.buf = binary.AppendUvarint(w.buf, uint64(a.Due.UnixMilli()))
	w.buf = binary.AppendUvarint(w.buf, uint64(a.Retries))
	w.buf = binary.AppendUvarint(w.buf, uint64(a.Counted))
	return w.record(kindAlarm, w.buf, nil)
}

// Key writes one key. Keys come in the order of their bytes.
func (w *Writer) Key(key, value []byte) error {
	if len(key) > MaxKeyBytes || len(value) > MaxValueBytes {
		return fmt.Errorf("key of %d bytes with a value of %d: too large for an archive", len(key), len(value))
	}
	if w.keys > 0 && string(key) <= w.last {
		return errors.New("keys are not in order")
	}
	w.keys, w.last = w.keys+1, string(key)
	w.buf = append(binary.AppendUvarint(w.buf[:0], uint64(len(key))), key...)
	return w.record(kindKey, w.buf, value)
}

// Close ends the archive; without it, nothing that was written is one. It does not close the underlying writer.
func (w *Writer) Close() error {
	w.buf = binary.AppendUvarint(w.buf[:0], w.keys)
	length := len(w.buf) + sha256.Size
	head := append(binary.AppendUvarint([]byte{kindEnd}, uint64(length)), w.buf...)
	if err := w.write(head); err != nil {
		return err
	}
	_, err := w.out.Write(w.sum.Sum(nil))
	return err
}

// record writes a record whose payload is first and then rest.
func (w *Writer) record(kind byte, first, rest []byte) error {
	head := binary.AppendUvarint([]byte{kind}, uint64(len(first)+len(rest)))
	if err := w.write(head); err != nil {
		return err
	}
	if err := w.write(first); err != nil {
		return err
	}
	return w.write(rest)
}

func (w *Writer) write(b []byte) error {
	w.sum.Write(b) // never fails
	_, err := w.out.Write(b)
	return err
}
