package webapi

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/dop251/goja"
)

// fetchData answers a request for a data: URL, or reports false when it is none that can be read.
func (r *Realm) fetchData(address string) (goja.Value, bool) {
	kind, text, ok := strings.Cut(strings.TrimPrefix(address, "data:"), ",")
	if !ok {
		return nil, false
	}
	text, _, _ = strings.Cut(text, "#")
	plain, err := url.PathUnescape(text)
	if err != nil {
		plain = text
	}
	data := []byte(plain)
	kind = strings.TrimSpace(kind)
	if essence, ok := strings.CutSuffix(strings.ToLower(kind), "base64"); ok && strings.HasSuffix(strings.TrimSpace(essence), ";") {
		kind = strings.TrimSuffix(strings.TrimSpace(kind[:len(essence)]), ";")
		plain = strings.Map(func(c rune) rune {
			if strings.ContainsRune(" \t\n\f\r", c) {
				return -1
			}
			return c
		}, plain)
		if data, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(plain, "=")); err != nil {
			return nil, false
		}
	}
	if kind == "" || strings.HasPrefix(kind, ";") {
		kind = "text/plain" + kind
		if kind == "text/plain" {
			kind = "text/plain;charset=US-ASCII"
		}
	}
	p := &Response{status: 200, statusText: "OK", kind: "default", url: address, body: bytesBody(data)}
	p.headers = &Headers{list: []header{{"content-type", kind}}, immutable: true}
	return r.response.wrap(p), true
}
