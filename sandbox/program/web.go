package program

import (
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/google/uuid"
	whatwg "github.com/nlnwa/whatwg-url/url"
)

// maxRandomBytes is the most that crypto.getRandomValues gives at once, as on the web.
const maxRandomBytes = 65536

// hostFunctions are what the prelude is built on. It alone sees them.
func (i *isolate) hostFunctions() map[string]nativeFunction {
	return map[string]nativeFunction{
		"parseURL":   i.parseURL,
		"setURL":     i.setURL,
		"encodeUTF8": i.encodeUTF8,
		"decode":     i.decode,
		"random":     i.random,
		"randomUUID": i.randomUUID,
		"running": func(goja.FunctionCall) goja.Value {
			return i.rt.ToValue(float64(i.run.clock.running()) / float64(time.Millisecond))
		},
		"started": func(goja.FunctionCall) goja.Value { return i.rt.ToValue(i.run.clock.started.UnixMilli()) },
	}
}

// parseURL(url, base) returns the URL's parts, or undefined when it is no URL.
func (i *isolate) parseURL(c goja.FunctionCall) goja.Value {
	var u *whatwg.Url
	var err error
	if base := c.Argument(1); goja.IsUndefined(base) {
		u, err = whatwg.Parse(c.Argument(0).String())
	} else {
		u, err = whatwg.ParseRef(base.String(), c.Argument(0).String())
	}
	if err != nil {
		return goja.Undefined()
	}
	return i.urlParts(u)
}

// setURL(href, part, value) returns the parts after one of them was set.
func (i *isolate) setURL(c goja.FunctionCall) goja.Value {
	u, err := whatwg.Parse(c.Argument(0).String())
	if err != nil {
		return goja.Undefined()
	}
	value := c.Argument(2).String()
	switch c.Argument(1).String() {
	case "protocol":
		u.SetProtocol(value)
	case "username":
		u.SetUsername(value)
	case "password":
		u.SetPassword(value)
	case "host":
		u.SetHost(value)
	case "hostname":
		u.SetHostname(value)
	case "port":
		u.SetPort(value)
	case "pathname":
		u.SetPathname(value)
	case "search":
		u.SetSearch(value)
	case "hash":
		u.SetHash(value)
	}
	return i.urlParts(u)
}

func (i *isolate) urlParts(u *whatwg.Url) goja.Value {
	o := i.rt.NewObject()
	origin := "null"
	switch u.Scheme() {
	case "http", "https", "ws", "wss", "ftp":
		origin = u.Protocol() + "//" + u.Host()
	case "blob":
		if inner, err := whatwg.Parse(u.Pathname()); err == nil && strings.HasPrefix(inner.Scheme(), "http") {
			origin = inner.Protocol() + "//" + inner.Host()
		}
	}
	for name, v := range map[string]string{
		"href": u.Href(false), "origin": origin, "protocol": u.Protocol(), "username": u.Username(),
		"password": u.Password(), "host": u.Host(), "hostname": u.Hostname(), "port": u.Port(),
		"pathname": u.Pathname(), "search": u.Search(), "hash": u.Hash(),
	} {
		_ = o.Set(name, v)
	}
	return o
}

// encodeUTF8(text) returns an ArrayBuffer.
func (i *isolate) encodeUTF8(c goja.FunctionCall) goja.Value {
	return i.rt.ToValue(i.rt.NewArrayBuffer([]byte(strings.ToValidUTF8(c.Argument(0).String(), "\ufffd"))))
}

// decode(buffer, offset, length, encoding, fatal) returns the text, or undefined when fatal is true and the
// bytes are not in that encoding.
func (i *isolate) decode(c goja.FunctionCall) goja.Value {
	buffer, ok := c.Argument(0).Export().(goja.ArrayBuffer)
	offset, length := c.Argument(1).ToInteger(), c.Argument(2).ToInteger()
	if !ok || offset < 0 || length < 0 || offset+length > int64(len(buffer.Bytes())) {
		i.throw("TypeError", "TextDecoder.decode takes an ArrayBuffer or a view of one")
	}
	b := buffer.Bytes()[offset : offset+length]
	switch c.Argument(3).String() {
	case "utf-16le":
		units := make([]uint16, (len(b)+1)/2)
		for n := range b {
			units[n/2] |= uint16(b[n]) << (8 * (n % 2))
		}
		return goja.StringFromUTF16(units)
	case "latin1":
		runes := make([]rune, len(b))
		for n, v := range b {
			runes[n] = rune(v)
		}
		return i.rt.ToValue(string(runes))
	}
	if utf8.Valid(b) {
		return i.rt.ToValue(string(b))
	}
	if c.Argument(4).ToBoolean() {
		return goja.Undefined()
	}
	return goja.StringFromUTF16(utf16.Encode([]rune(string(b))))
}

// random(buffer, offset, length) fills bytes with random ones.
func (i *isolate) random(c goja.FunctionCall) goja.Value {
	buffer, ok := c.Argument(0).Export().(goja.ArrayBuffer)
	offset, length := c.Argument(1).ToInteger(), c.Argument(2).ToInteger()
	if !ok || offset < 0 || length < 0 || offset+length > int64(len(buffer.Bytes())) {
		i.throw("TypeError", "getRandomValues takes an integer typed array")
	}
	if length > maxRandomBytes {
		i.throw("RangeError", "getRandomValues gives at most %d bytes at once", maxRandomBytes)
	}
	_, _ = i.run.random.Read(buffer.Bytes()[offset : offset+length]) // it never fails
	return goja.Undefined()
}

func (i *isolate) randomUUID(goja.FunctionCall) goja.Value {
	id, err := uuid.NewRandomFromReader(i.run.random)
	if err != nil {
		i.throw("Error", "randomUUID: %s", err)
	}
	return i.rt.ToValue(id.String())
}

// atob decodes base64 as the web does: white space is dropped and padding may be absent.
func (i *isolate) atob(c goja.FunctionCall) goja.Value {
	text := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n\f\r", r) {
			return -1
		}
		return r
	}, c.Argument(0).String())
	if len(text)%4 == 0 {
		text = strings.TrimSuffix(strings.TrimSuffix(text, "="), "=")
	}
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		i.throw("Error", "atob: the text is not base64")
	}
	runes := make([]rune, len(b))
	for n, v := range b {
		runes[n] = rune(v)
	}
	return i.rt.ToValue(string(runes))
}

// btoa encodes a string of bytes as base64.
func (i *isolate) btoa(c goja.FunctionCall) goja.Value {
	text := c.Argument(0).String()
	b := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			i.throw("Error", "btoa: the text has characters beyond U+00FF, encode it with TextEncoder first")
		}
		b = append(b, byte(r))
	}
	return i.rt.ToValue(base64.StdEncoding.EncodeToString(b))
}
