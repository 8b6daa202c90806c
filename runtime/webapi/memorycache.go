package webapi

import (
	"bytes"
	"container/list"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// DefaultCacheBytes and MaxCacheEntries bound a MemoryCache.
const (
	DefaultCacheBytes = 64 << 20
	MaxCacheEntries   = 10_000
)

// MemoryCache is a Cache that keeps what was used last in memory, for MaxCacheEntries URLs at most.
type MemoryCache struct {
	now      func() time.Time
	maxBytes int64

	mu      sync.Mutex
	entries map[string]*list.Element
	// order has the entry that was used last in front.
	order *list.List
	bytes int64
}

type cacheEntry struct {
	key    string
	status int
	header http.Header
	body   []byte
	until  time.Time
}

func (e *cacheEntry) size() int64 {
	size := int64(len(e.key) + len(e.body) + 256)
	for name, values := range e.header {
		for _, v := range values {
			size += int64(len(name) + len(v))
		}
	}
	return size
}

// NewMemoryCache returns an empty cache of at most maxBytes. now may be nil.
func NewMemoryCache(maxBytes int64, now func() time.Time) *MemoryCache {
	if now == nil {
		now = time.Now
	}
	return &MemoryCache{now: now, maxBytes: maxBytes, entries: map[string]*list.Element{}, order: list.New()}
}

func cacheEntryKey(cache, url string) string { return cache + "\x00" + url }

// Match returns a copy of what was kept, unless its time is over: the part that header's Range wants, or nothing with the
// status 304 where its If-None-Match or If-Modified-Since name what was kept.
func (m *MemoryCache) Match(_ context.Context, cache, url string, header http.Header) (*http.Response, error) {
	e := m.find(cacheEntryKey(cache, url))
	if e == nil {
		return nil, nil
	}
	p := &partWriter{header: e.header.Clone(), status: e.status}
	p.header.Set("Cf-Cache-Status", "HIT")
	if header == nil || e.status != http.StatusOK {
		return p.response(e.body), nil
	}
	if p.header["Content-Type"] == nil {
		p.header["Content-Type"] = nil // nobody guesses one
	}
	modified, _ := http.ParseTime(e.header.Get("Last-Modified")) // the zero time counts as none
	http.ServeContent(p, &http.Request{Method: http.MethodGet, Header: header}, "", modified, bytes.NewReader(e.body))
	if p.status == http.StatusOK {
		return p.response(e.body), nil
	}
	return p.response(p.body.Bytes()), nil
}

// find returns what is kept and counts it as used.
func (m *MemoryCache) find(key string) *cacheEntry {
	m.mu.Lock()
	defer m.mu.Unlock()
	element := m.entries[key]
	if element == nil {
		return nil
	}
	e := element.Value.(*cacheEntry)
	if !m.now().Before(e.until) {
		m.remove(element)
		return nil
	}
	m.order.MoveToFront(element)
	return e
}

// partWriter takes the part of a response that a request wants. A whole one is not written.
type partWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

var _ http.ResponseWriter = (*partWriter)(nil)

// Header implements http.ResponseWriter.
func (p *partWriter) Header() http.Header { return p.header }

// WriteHeader implements http.ResponseWriter.
func (p *partWriter) WriteHeader(status int) { p.status = status }

// Write implements http.ResponseWriter.
func (p *partWriter) Write(b []byte) (int, error) {
	if p.status == http.StatusOK {
		return len(b), nil
	}
	return p.body.Write(b)
}

func (p *partWriter) response(body []byte) *http.Response {
	if p.header["Content-Type"] == nil {
		delete(p.header, "Content-Type")
	}
	return &http.Response{
		StatusCode: p.status, Header: p.header, ContentLength: int64(len(body)), Body: &dataBody{bytes.NewReader(body)},
	}
}

// Put keeps a response for as long as its headers say.
func (m *MemoryCache) Put(_ context.Context, cache, url string, r *http.Response, body []byte) error {
	now := m.now()
	life := lifetime(r, now)
	e := &cacheEntry{
		key: cacheEntryKey(cache, url), status: r.StatusCode, header: r.Header.Clone(), body: body, until: now.Add(life),
	}
	e.header.Del("Set-Cookie") // where it does not forbid to keep the response
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.entries[e.key]; old != nil {
		m.remove(old)
	}
	if life <= 0 || e.size() > m.maxBytes {
		return nil
	}
	m.entries[e.key] = m.order.PushFront(e)
	m.bytes += e.size()
	for m.bytes > m.maxBytes || m.order.Len() > MaxCacheEntries {
		m.remove(m.order.Back())
	}
	return nil
}

// Delete forgets a response. It reports false for one whose time is over.
func (m *MemoryCache) Delete(_ context.Context, cache, url string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element := m.entries[cacheEntryKey(cache, url)]
	if element == nil {
		return false, nil
	}
	live := m.now().Before(element.Value.(*cacheEntry).until)
	m.remove(element)
	return live, nil
}

func (m *MemoryCache) remove(element *list.Element) {
	e := m.order.Remove(element).(*cacheEntry)
	delete(m.entries, e.key)
	m.bytes -= e.size()
}

// Of returns the part of the cache that is one Worker's own.
func (m *MemoryCache) Of(worker string) Cache { return &workerCache{m, worker} }

// workerCache keeps the responses of one Worker apart from those of others.
type workerCache struct {
	cache  *MemoryCache
	worker string
}

var _ Cache = (*workerCache)(nil)

func (w *workerCache) name(cache string) string { return w.worker + "\x00" + cache }

// Match implements Cache.
func (w *workerCache) Match(ctx context.Context, cache, url string, header http.Header) (*http.Response, error) {
	return w.cache.Match(ctx, w.name(cache), url, header)
}

// Put implements Cache.
func (w *workerCache) Put(ctx context.Context, cache, url string, r *http.Response, body []byte) error {
	return w.cache.Put(ctx, w.name(cache), url, r, body)
}

// Delete implements Cache.
func (w *workerCache) Delete(ctx context.Context, cache, url string) (bool, error) {
	return w.cache.Delete(ctx, w.name(cache), url)
}

// lifetime is how long a response may be kept; 0 when it may not. Without a word from its headers it is what
// Cloudflare's documentation names for its status.
func lifetime(r *http.Response, now time.Time) time.Duration {
	control := map[string]string{}
	for part := range strings.SplitSeq(strings.ToLower(strings.Join(r.Header["Cache-Control"], ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		control[name] = strings.Trim(value, `"`)
	}
	private, isPrivate := control["private"]
	if r.Header.Get("Set-Cookie") != "" && private != "set-cookie" {
		return 0
	}
	if _, ok := control["no-store"]; ok || isPrivate && private == "" {
		return 0
	}
	if _, ok := control["no-cache"]; ok {
		return 0
	}
	for _, name := range []string{"s-maxage", "max-age"} {
		if text, ok := control[name]; ok {
			seconds, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return 0
			}
			return time.Duration(seconds) * time.Second
		}
	}
	if expires := r.Header.Get("Expires"); expires != "" {
		at, err := http.ParseTime(expires)
		if err != nil {
			return 0
		}
		return at.Sub(now)
	}
	switch r.StatusCode {
	case http.StatusOK, http.StatusMovedPermanently:
		return 2 * time.Hour
	case http.StatusFound, http.StatusSeeOther:
		return 20 * time.Minute
	case http.StatusNotFound, http.StatusGone:
		return 3 * time.Minute
	}
	return 0
}
