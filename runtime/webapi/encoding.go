package webapi

import (
	"encoding/base64"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"
)

var utf8BOM = []byte{0xef, 0xbb, 0xbf}

// decodeUTF8 is the text of bytes; what is no UTF-8 becomes U+FFFD, one for each maximal part of a character.
func decodeUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b)+8)
	for len(b) > 0 {
		c, size := utf8.DecodeRune(b)
		if c == utf8.RuneError && size <= 1 {
			out = utf8.AppendRune(out, utf8.RuneError)
			b = b[brokenPrefix(b):]
			continue
		}
		out = append(out, b[:size]...)
		b = b[size:]
	}
	return string(out)
}

// brokenPrefix is how many bytes of b, which begins with no whole character, count as one broken one.
func brokenPrefix(b []byte) int {
	low, high, more := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		more = 1
	case c >= 0xe0 && c <= 0xef:
		more = 2
		switch c {
		case 0xe0:
			low = 0xa0
		case 0xed:
			high = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		more = 3
		switch c {
		case 0xf0:
			low = 0x90
		case 0xf4:
			high = 0x8f
		}
	}
	n := 1
	for ; n <= more && n < len(b) && b[n] >= low && b[n] <= high; n++ {
		low, high = 0x80, 0xbf
	}
	return n
}

// textEncoder is what is behind a TextEncoder.
type textEncoder struct{ internal }

// textDecoder is what is behind a TextDecoder.
type textDecoder struct {
	internal
	label     string
	fatal     bool
	ignoreBOM bool
	// decoder is nil for UTF-8.
	decoder *encoding.Decoder
	// rest are the bytes of a character that is not complete.
	rest    []byte
	started bool
}

func (r *Realm) installEncoding() error {
	e := newClass(r, "TextEncoder", func(goja.ConstructorCall) *textEncoder { return &textEncoder{} })
	r.encoder = e
	e.attribute("encoding", func(*textEncoder) goja.Value { return r.rt.ToValue("utf-8") }, nil)
	e.method("encode", func(_ *textEncoder, call goja.FunctionCall) goja.Value {
		if isMissing(call.Argument(0)) {
			return r.newBytes(nil)
		}
		return r.newBytes([]byte(r.text(call.Argument(0))))
	})
	e.method("encodeInto", r.encodeInto)
	if err := e.install(); err != nil {
		return err
	}
	d := newClass(r, "TextDecoder", func(call goja.ConstructorCall) *textDecoder {
		return r.newDecoder(call.Argument(0), call.Argument(1))
	})
	r.decoder = d
	d.method("decode", r.decode)
	d.attribute("encoding", func(t *textDecoder) goja.Value { return r.rt.ToValue(t.label) }, nil)
	d.attribute("fatal", func(t *textDecoder) goja.Value { return r.rt.ToValue(t.fatal) }, nil)
	d.attribute("ignoreBOM", func(t *textDecoder) goja.Value { return r.rt.ToValue(t.ignoreBOM) }, nil)
	if err := d.install(); err != nil {
		return err
	}
	if err := r.isolate.DefineGlobal("atob", r.isolate.Function("atob", 0, r.atob)); err != nil {
		return err
	}
	return r.isolate.DefineGlobal("btoa", r.isolate.Function("btoa", 0, r.btoa))
}

func (r *Realm) encodeInto(_ *textEncoder, call goja.FunctionCall) goja.Value {
	target, ok := r.bytesOf(call.Argument(1))
	if !ok {
		r.throwType("Failed to execute 'encodeInto' on 'TextEncoder': parameter 2 is not of type 'Uint8Array'.")
	}
	read, written := 0, 0
	for _, c := range r.text(call.Argument(0)) {
		size := utf8.RuneLen(c)
		if written+size > len(target) {
			break
		}
		utf8.EncodeRune(target[written:], c)
		written += size
		read += utf16.RuneLen(c)
	}
	o := r.rt.NewObject()
	_ = o.Set("read", read)
	_ = o.Set("written", written)
	return o
}

func (r *Realm) newDecoder(label, options goja.Value) *textDecoder {
	t := &textDecoder{label: "utf-8"}
	if !isMissing(label) {
		text := strings.ToLower(strings.Trim(r.text(label), " \t\r\n\f"))
		enc, err := htmlindex.Get(text)
		name := ""
		if err == nil {
			name, err = htmlindex.Name(enc)
		}
		if err != nil || name == "replacement" {
			r.isolate.Throw("RangeError", "\"%s\" is not a valid encoding.", r.text(label))
		}
		t.label = name
		if name != "utf-8" {
			t.decoder = enc.NewDecoder()
		}
	}
	if o, ok := options.(*goja.Object); ok {
		if v := o.Get("fatal"); !isMissing(v) {
			t.fatal = v.ToBoolean()
		}
		if v := o.Get("ignoreBOM"); !isMissing(v) {
			t.ignoreBOM = v.ToBoolean()
		}
	}
	return t
}

func (r *Realm) decode(t *textDecoder, call goja.FunctionCall) goja.Value {
	var input []byte
	if v := call.Argument(0); !isMissing(v) {
		var ok bool
		if input, ok = r.bytesOf(v); !ok {
			r.throwType("Failed to execute 'decode' on 'TextDecoder': parameter 1 is not of type 'Array'.")
		}
	}
	stream := false
	if o, ok := call.Argument(1).(*goja.Object); ok {
		v := o.Get("stream")
		stream = !isMissing(v) && v.ToBoolean()
	}
	if len(t.rest) > 0 {
		input = append(t.rest, input...)
		t.rest = nil
	}
	text, ok := t.decodeBytes(input, !stream)
	if !ok {
		t.reset()
		r.throwType("Failed to decode input.")
	}
	if !t.started && !t.ignoreBOM {
		text = strings.TrimPrefix(text, "\ufeff")
	}
	t.started = t.started || text != ""
	if !stream {
		t.reset()
	}
	return r.rt.ToValue(text)
}

func (t *textDecoder) reset() {
	t.started, t.rest = false, nil
	if t.decoder != nil {
		t.decoder.Reset()
	}
}

// decodeBytes decodes what is complete, and keeps the rest unless this is the last of it. It reports false when fatal
// and the bytes are not in the encoding.
func (t *textDecoder) decodeBytes(b []byte, last bool) (string, bool) {
	if t.decoder == nil {
		if !last {
			end := len(b) - incompleteTail(b)
			t.rest = append([]byte(nil), b[end:]...)
			b = b[:end]
		}
		if t.fatal && !utf8.Valid(b) {
			return "", false
		}
		return decodeUTF8(b), true
	}
	out := make([]byte, 3*len(b)+8)
	n, read, err := t.decoder.Transform(out, b, last)
	for err == transform.ErrShortDst { //nolint:errorlint // the package returns it bare
		more := make([]byte, 2*len(out))
		copy(more, out[:n])
		out = more
		var written, took int
		written, took, err = t.decoder.Transform(out[n:], b[read:], last)
		n, read = n+written, read+took
	}
	if !last {
		t.rest = append([]byte(nil), b[read:]...)
	}
	text := string(out[:n])
	return text, !t.fatal || !strings.ContainsRune(text, utf8.RuneError)
}

// incompleteTail is how many bytes at the end begin a character of UTF-8 that is not complete.
func incompleteTail(b []byte) int {
	for n := 1; n <= min(3, len(b)); n++ {
		c := b[len(b)-n]
		if utf8.RuneStart(c) {
			if c >= 0xc2 && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// atob decodes base64 as the web does: white space is dropped and padding may be absent.
func (r *Realm) atob(call goja.FunctionCall) goja.Value {
	if len(call.Arguments) == 0 {
		r.throwType("Failed to execute 'atob' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'string'.")
	}
	text := strings.Map(func(c rune) rune {
		if strings.ContainsRune(" \t\n\f\r", c) {
			return -1
		}
		return c
	}, r.text(call.Argument(0)))
	if len(text)%4 == 0 {
		text = strings.TrimSuffix(strings.TrimSuffix(text, "="), "=")
	}
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		r.throwDOM("InvalidCharacterError", "atob() called with invalid base64-encoded data. (Only whitespace, '+', '/', "+
			"alphanumeric ASCII, and up to two terminal '=' signs when the input data length is divisible by 4 are allowed.)")
	}
	units := make([]uint16, len(b))
	for n, c := range b {
		units[n] = uint16(c)
	}
	return goja.StringFromUTF16(units)
}

// btoa encodes a string of bytes as base64.
func (r *Realm) btoa(call goja.FunctionCall) goja.Value {
	if len(call.Arguments) == 0 {
		r.throwType("Failed to execute 'btoa' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'String'.")
	}
	text := r.text(call.Argument(0))
	b := make([]byte, 0, len(text))
	for _, c := range text {
		if c > 0xff {
			r.throwDOM("InvalidCharacterError", "btoa() can only operate on characters in the Latin1 (ISO/IEC 8859-1) range.")
		}
		b = append(b, byte(c))
	}
	return r.rt.ToValue(base64.StdEncoding.EncodeToString(b))
}
