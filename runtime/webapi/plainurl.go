package webapi

import (
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// plainURL is a URL that is the same before and after it is parsed, as nearly all are that requests come with: http or
// https, a host name in lower case or an IPv4 address, a path without dot segments, perhaps a query, and no character that
// would be encoded. The parser of all URLs takes twenty times as long.
type plainURL struct {
	href string
	// host is where the host begins, port where its port or its path does, path and query where those do: at the end
	// when there are none.
	host, port, path, query int
}

// Classes of characters that are left as they are.
const (
	inHost = 1 << iota
	inPath
	inQuery
)

// plainBytes is what a byte is left as it is in.
var plainBytes = func() (table [256]byte) {
	for _, class := range []struct {
		in    byte
		bytes string
	}{
		{inHost, "abcdefghijklmnopqrstuvwxyz0123456789.-"},
		{inPath, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~!$&'()*+,;=:@/%"},
		{inQuery, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~!$&()*+,;=:@/%?"},
	} {
		for n := range len(class.bytes) {
			table[class.bytes[n]] |= class.in
		}
	}
	return table
}()

// parsePlainURL takes a text apart if it is a plain URL.
func parsePlainURL(text string) (u plainURL, ok bool) {
	u.href = text
	switch {
	case strings.HasPrefix(text, "http://"):
		u.host = len("http://")
	case strings.HasPrefix(text, "https://"):
		u.host = len("https://")
	default:
		return u, false
	}
	n := u.host
	for n < len(text) && plainBytes[text[n]]&inHost != 0 {
		n++
	}
	u.port = n
	if n < len(text) && text[n] == ':' {
		for n++; n < len(text) && '0' <= text[n] && text[n] <= '9'; n++ {
		}
	}
	u.path = n
	if n == len(text) || text[n] != '/' || !isPlainHost(u.hostname()) || !isPlainPort(text[u.port:n], u.host) {
		return u, false
	}
	for n < len(text) && plainBytes[text[n]]&inPath != 0 {
		n++
	}
	u.query = n
	if hasDotSegment(u.pathname()) {
		return u, false
	}
	if n == len(text) {
		return u, true
	}
	if text[n] != '?' || n+1 == len(text) {
		return u, false
	}
	for n < len(text) && plainBytes[text[n]]&inQuery != 0 {
		n++
	}
	return u, n == len(text)
}

func (u *plainURL) protocol() string { return u.href[:u.host-len("//")] }
func (u *plainURL) hostname() string { return u.href[u.host:u.port] }
func (u *plainURL) hostPort() string { return u.href[u.host:u.path] }
func (u *plainURL) pathname() string { return u.href[u.path:u.query] }
func (u *plainURL) search() string   { return u.href[u.query:] }
func (u *plainURL) origin() string   { return u.href[:u.path] }
func (u *plainURL) portText() string { return strings.TrimPrefix(u.href[u.port:u.path], ":") }

// part returns a part by the name of its attribute.
func (u *plainURL) part(name string) string {
	switch name {
	case "protocol":
		return u.protocol()
	case "host":
		return u.hostPort()
	case "hostname":
		return u.hostname()
	case "port":
		return u.portText()
	case "pathname":
		return u.pathname()
	case "search":
		return u.search()
	}
	return "" // username, password, hash
}

// isPlainHost reports whether a host of plain characters is left as it is: no label is empty, punycode or, unless it is an
// IPv4 address in its usual form, the last one a number.
func isPlainHost(host string) bool {
	if host == "" || host[len(host)-1] == '.' || strings.Contains(host, "..") || host[0] == '.' ||
		strings.Contains(host, "--") || len(host) > 253 {
		return false
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last[0] < '0' || last[0] > '9' {
		return true
	}
	parts := 0
	for part := range strings.SplitSeq(host, ".") {
		value := 0
		for n := range len(part) {
			if part[n] < '0' || part[n] > '9' {
				return false
			}
			value = value*10 + int(part[n]-'0')
		}
		if len(part) > 3 || value > 255 || len(part) > 1 && part[0] == '0' {
			return false
		}
		parts++
	}
	return parts == 4
}

// isPlainPort reports whether a port with its colon, or none, is left as it is: it is not that of the scheme, whose host
// begins there.
func isPlainPort(port string, host int) bool {
	if port == "" {
		return true
	}
	digits := port[1:]
	if digits == "" || digits[0] == '0' || len(digits) > 5 || len(digits) == 5 && digits > "65535" {
		return false
	}
	return digits != "80" && host == len("http://") || digits != "443" && host == len("https://")
}

// hasDotSegment reports whether a path may have a segment that is left out, such as ".." or "%2e".
func hasDotSegment(path string) bool {
	return strings.Contains(path, "/.") || strings.Contains(path, "%2e") || strings.Contains(path, "%2E")
}

// full parses it as any URL.
func (u *plainURL) full() *whatwg.Url {
	full, err := parseURL(u.href, "")
	if err != nil {
		panic(err) // a plain URL is one
	}
	return full
}
