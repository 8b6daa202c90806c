package webapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// inEvent runs f on an isolate's goroutine, within an event.
func inEvent(t testing.TB, i *isolate.Isolate, f func(*Realm)) {
	t.Helper()
	err := i.NewContext(isolate.ContextOptions{}).Run(t.Context(), func(*isolate.Event) (goja.Value, error) {
		f(Of(i))
		return goja.Undefined(), nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

func FuzzMultipart(f *testing.F) {
	i := newWorker(f, `export {};`, isolate.Options{}, Options{})
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nv\r\n--b--\r\n"))
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\nContent-Type: a/b\r\n\r\nv\r\n--b--"))
	f.Add([]byte("--b\r\n\r\n--b--"))
	f.Fuzz(func(t *testing.T, data []byte) {
		inEvent(t, i, func(r *Realm) {
			form := &formData{}
			if thrown := r.rt.Try(func() { r.parseMultipart(form, data, "b") }); thrown != nil {
				return
			}
			// What was read can be written and read again.
			again := &formData{}
			content, kind := form.encode()
			boundary := strings.TrimPrefix(kind, "multipart/form-data; boundary=")
			if thrown := r.rt.Try(func() { r.parseMultipart(again, content.data, boundary) }); thrown != nil && len(form.list) > 0 {
				t.Fatalf("%q: %v", content.data, thrown)
			}
			if len(again.list) != len(form.list) {
				t.Fatalf("%d entries became %d", len(form.list), len(again.list))
			}
		})
	})
}

func FuzzTextDecoder(f *testing.F) {
	f.Add([]byte("h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80"), 3, "utf-8")
	f.Add([]byte{0xe2, 0x82, 0x41, 0xf0, 0x9f}, 1, "utf-8")
	f.Add([]byte{0x3d, 0xd8, 0, 0xde, 0x41}, 2, "utf-16le")
	f.Add([]byte{0x82, 0xa0, 0xff}, 1, "shift_jis")
	i := newWorker(f, `export {};`, isolate.Options{}, Options{})
	f.Fuzz(func(t *testing.T, data []byte, at int, label string) {
		at = max(0, min(at, len(data)))
		inEvent(t, i, func(r *Realm) {
			var whole, parts *textDecoder
			if thrown := r.rt.Try(func() {
				whole = r.newDecoder(r.rt.ToValue(label), nil)
				parts = r.newDecoder(r.rt.ToValue(label), nil)
			}); thrown != nil {
				return
			}
			want, _ := whole.decodeBytes(data, true)
			first, _ := parts.decodeBytes(data[:at], false)
			second, _ := parts.decodeBytes(append(parts.rest, data[at:]...), true)
			if got := first + second; label == "utf-8" && got != want {
				t.Errorf("%q cut at %d: %q, want %q", data, at, got, want)
			}
			if !utf8.ValidString(want) {
				t.Errorf("%q gave %q", data, want)
			}
		})
	})
}

func FuzzDecompressor(f *testing.F) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, strings.Repeat("hello ", 100))
	_ = w.Close()
	f.Add(b.Bytes(), 7)
	f.Add([]byte("no gzip"), 2)
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		at = max(0, min(at, len(data)))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d, _ := newDecompressor(ctx, "gzip", 1<<20)
		defer d.close()
		out, fault := d.write(data[:at], false)
		if fault == "" {
			var rest []byte
			rest, fault = d.write(data[at:], true)
			out = append(out, rest...)
		}
		reader, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return
		}
		reader.Multistream(false)
		want, err := io.ReadAll(reader)
		if len(want) > 1<<20 {
			return
		}
		if fault == "" && (err != nil || !bytes.Equal(out, want)) {
			t.Errorf("%d bytes, want %d, %v", len(out), len(want), err)
		}
	})
}
