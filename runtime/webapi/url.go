package webapi

import (
	"strings"
	"sync"

	"github.com/dop251/goja"
	whatwg "github.com/nlnwa/whatwg-url/url"
)

// URL is what is behind a URL object.
type URL struct {
	internal
	// plain is set while url is nil.
	plain plainURL
	url   *whatwg.Url
	// params is the object that searchParams gave, or nil.
	params     *searchParams
	paramsView *goja.Object
}

// urlParser returns the parser. It encodes circumflexes in paths, as the standard has had it since 2023.
var urlParser = sync.OnceValue(func() whatwg.Parser {
	return whatwg.NewParser(whatwg.WithPathPercentEncodeSet(whatwg.PathPercentEncodeSet.Set('^')))
})

func parseURL(text, base string) (*whatwg.Url, error) {
	if base == "" {
		return urlParser().Parse(text)
	}
	return urlParser().ParseRef(base, text)
}

// full returns the URL for changes.
func (u *URL) full() *whatwg.Url {
	if u.url == nil {
		u.url = u.plain.full()
	}
	return u.url
}

func (u *URL) href() string {
	if u.url == nil {
		return u.plain.href
	}
	return u.url.Href(false)
}

func (u *URL) origin() string {
	if u.url == nil {
		return u.plain.origin()
	}
	return originOf(u.url)
}

func (u *URL) search() string {
	if u.url == nil {
		return u.plain.search()
	}
	return u.url.Search()
}

func (r *Realm) newURL(text string, base goja.Value) (*URL, error) {
	baseText := r.baseText(base)
	if baseText == "" {
		if plain, ok := parsePlainURL(text); ok {
			return &URL{plain: plain}, nil
		}
	}
	u, err := parseURL(text, baseText)
	if err != nil {
		return nil, err
	}
	return &URL{url: u}, nil
}

func (r *Realm) baseText(base goja.Value) string {
	if isMissing(base) {
		return ""
	}
	// An empty base is none that could be parsed.
	if s := r.text(base); s != "" {
		return s
	}
	return ":"
}

func originOf(u *whatwg.Url) string {
	switch u.Scheme() {
	case "http", "https", "ws", "wss", "ftp":
		return u.Protocol() + "//" + u.Host()
	case "blob":
		if inner, err := parseURL(u.Pathname(), ""); err == nil && strings.HasPrefix(inner.Scheme(), "http") {
			return inner.Protocol() + "//" + inner.Host()
		}
	}
	return "null"
}

func (r *Realm) installURL() error {
	if err := r.installSearchParams(); err != nil {
		return err
	}
	c := newClass(r, "URL", func(call goja.ConstructorCall) *URL {
		if len(call.Arguments) == 0 {
			r.throwType("Failed to construct 'URL': constructor parameter 1 is not of type 'USVString'.")
		}
		u, err := r.newURL(r.text(call.Argument(0)), call.Argument(1))
		if err != nil {
			r.throwType("Invalid URL string.")
		}
		return u
	})
	r.url = c
	c.attribute("origin", func(u *URL) goja.Value { return r.rt.ToValue(u.origin()) }, nil)
	c.attribute("href", func(u *URL) goja.Value { return r.rt.ToValue(u.href()) }, func(u *URL, v goja.Value) {
		parsed, err := parseURL(r.text(v), "")
		if err != nil {
			r.throwType("Failed to set the 'href' property on 'URL': the provided value is not of type 'valid URL string'.")
		}
		u.url = parsed
		u.changed()
	})
	for _, part := range urlParts() {
		c.attribute(part.name, func(u *URL) goja.Value {
			if u.url == nil {
				return r.rt.ToValue(u.plain.part(part.name))
			}
			return r.rt.ToValue(part.get(u.url))
		}, func(u *URL, v goja.Value) {
			part.set(u.full(), r.text(v))
			u.changed()
		})
	}
	c.attribute("searchParams", func(u *URL) goja.Value {
		if u.params == nil {
			u.params = &searchParams{url: u, list: parseForm(strings.TrimPrefix(u.search(), "?"))}
			u.paramsView = r.searchParams.wrap(u.params)
		}
		return u.paramsView
	}, nil)
	href := func(u *URL, _ goja.FunctionCall) goja.Value { return r.rt.ToValue(u.href()) }
	c.method("toJSON", href)
	c.method("toString", href)
	c.static("canParse", func(call goja.FunctionCall) goja.Value {
		_, err := parseURL(c.text(call, 0, "canParse"), r.baseText(call.Argument(1)))
		return r.rt.ToValue(err == nil)
	})
	c.static("parse", func(call goja.FunctionCall) goja.Value {
		u, err := r.newURL(c.text(call, 0, "parse"), call.Argument(1))
		if err != nil {
			return goja.Null()
		}
		return c.wrap(u)
	})
	return c.install()
}

// changed has the search parameters follow the URL.
func (u *URL) changed() {
	if u.params != nil {
		u.params.list = parseForm(strings.TrimPrefix(u.search(), "?"))
	}
}

type urlPart struct {
	name string
	get  func(*whatwg.Url) string
	set  func(*whatwg.Url, string)
}

func urlParts() []urlPart {
	return []urlPart{
		{"protocol", (*whatwg.Url).Protocol, (*whatwg.Url).SetProtocol},
		{"username", (*whatwg.Url).Username, (*whatwg.Url).SetUsername},
		{"password", (*whatwg.Url).Password, (*whatwg.Url).SetPassword},
		{"host", (*whatwg.Url).Host, (*whatwg.Url).SetHost},
		{"hostname", (*whatwg.Url).Hostname, (*whatwg.Url).SetHostname},
		{"port", (*whatwg.Url).Port, (*whatwg.Url).SetPort},
		{"pathname", (*whatwg.Url).Pathname, (*whatwg.Url).SetPathname},
		{"search", (*whatwg.Url).Search, (*whatwg.Url).SetSearch},
		{"hash", (*whatwg.Url).Hash, (*whatwg.Url).SetHash},
	}
}
