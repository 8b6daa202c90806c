package archive

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/proto/objectid"
)

// content is a whole archive, taken apart.
type content struct {
	Header Header
	Alarm  *Alarm
	Keys   []string
	Values []string
}

func example() content {
	return content{
		Header: Header{
			Namespace: "chat-Room", ID: objectid.NewNamespace("chat-Room").FromName("lobby"), Name: "lobby", HasName: true,
		},
		Alarm: &Alarm{
			ScheduledTime: time.UnixMilli(1_700_000_000_000), Due: time.UnixMilli(1_700_000_002_000), Retries: 2, Counted: 1,
		},
		Keys:   []string{"", "a", "a\x00", "\xff"},
		Values: []string{"empty key", "", "\x00\xff", "last"},
	}
}

func (c content) write(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, c.Header)
	if err == nil && c.Alarm != nil {
		err = w.Alarm(*c.Alarm)
	}
	for i, key := range c.Keys {
		if err == nil {
			err = w.Key([]byte(key), []byte(c.Values[i]))
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(in io.Reader) (content, error) {
	r, err := NewReader(in)
	if err != nil {
		return content{}, err
	}
	c := content{Header: r.Header()}
	for {
		rec, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			if again, err2 := r.Next(); err2 != io.EOF || again.Key != "" {
				return c, fmt.Errorf("after the end: %v", err2)
			}
			return c, nil
		case err != nil:
			return c, err
		case rec.Alarm != nil:
			c.Alarm = rec.Alarm
		default:
			c.Keys, c.Values = append(c.Keys, rec.Key), append(c.Values, string(rec.Value))
		}
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	large := example()
	large.Values[3] = strings.Repeat("x", 5<<20)
	bare := content{Header: Header{Namespace: "n", ID: objectid.ID{1}}}
	for name, want := range map[string]content{"example": example(), "large": large, "bare": bare} {
		for how, in := range map[string]io.Reader{
			"whole": bytes.NewReader(want.write(t)), "in halves": iotest.HalfReader(bytes.NewReader(want.write(t))),
		} {
			got, err := read(in)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s, %s: %v %s", name, how, err, diff)
			}
		}
	}
}

// version1 is what the first version wrote of example.
//
//go:embed testdata/version1.hex
var version1 string

// The format does not change by accident.
func TestVersion1(t *testing.T) {
	t.Parallel()
	recorded, err := hex.DecodeString(strings.TrimSpace(version1))
	if err != nil {
		t.Fatal(err)
	}
	if got := example().write(t); !bytes.Equal(got, recorded) {
		t.Errorf("example is written as\n%x", got)
	}
	got, err := read(bytes.NewReader(recorded))
	if diff := cmp.Diff(example(), got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	_, err = read(bytes.NewReader(append([]byte("tandemobj\x02"), 0)))
	if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "version 2, this reads 1") {
		t.Errorf("a newer version: %v", err)
	}
}

// Any single byte that is changed, lost or added is noticed.
func TestDamage(t *testing.T) {
	t.Parallel()
	whole := example().write(t)
	for i := range whole {
		for _, bit := range []byte{1, 0x80} {
			damaged := bytes.Clone(whole)
			damaged[i] ^= bit
			if _, err := read(bytes.NewReader(damaged)); !errors.Is(err, ErrFormat) {
				t.Errorf("byte %d ^ %#x: %v", i, bit, err)
			}
		}
		if _, err := read(bytes.NewReader(whole[:i])); !errors.Is(err, ErrFormat) {
			t.Errorf("cut at %d: %v", i, err)
		}
		if _, err := read(bytes.NewReader(append(bytes.Clone(whole[:i]), whole[i+1:]...))); !errors.Is(err, ErrFormat) {
			t.Errorf("without byte %d: %v", i, err)
		}
	}
	if _, err := read(bytes.NewReader(append(whole, 0))); !errors.Is(err, ErrFormat) {
		t.Errorf("one byte more: %v", err)
	}
}

// A source's own error is not the archive's fault.
func TestSourceFails(t *testing.T) {
	t.Parallel()
	fault := errors.New("no network")
	whole := example().write(t)
	for i := range whole {
		_, err := read(io.MultiReader(bytes.NewReader(whole[:i]), iotest.ErrReader(fault)))
		if !errors.Is(err, fault) || errors.Is(err, ErrFormat) {
			t.Fatalf("after %d bytes: %v", i, err)
		}
	}
}

func TestWriterRefuses(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]Header{
		"no namespace":   {},
		"NUL":            {Namespace: "a\x00b"},
		"long namespace": {Namespace: strings.Repeat("n", 513)},
		"long name":      {Namespace: "n", Name: strings.Repeat("n", 1025), HasName: true},
	} {
		if _, err := NewWriter(io.Discard, h); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	w, err := NewWriter(io.Discard, example().Header)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Key([]byte("b"), nil); err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{
		"the same key": "b", "a lower key": "a", "a long key": strings.Repeat("k", 65536),
	} {
		if w.Key([]byte(key), nil) == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// Whatever is read, it ends, and what was read whole is written again to the byte.
func FuzzReader(f *testing.F) {
	whole := example().write(f)
	f.Add(whole)
	f.Add(content{Header: Header{Namespace: "n"}}.write(f))
	f.Add(whole[:40])
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := read(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		if again, err := read(bytes.NewReader(c.write(t))); err != nil || !cmp.Equal(c, again) {
			t.Fatalf("written again: %v", err)
		}
	})
}
