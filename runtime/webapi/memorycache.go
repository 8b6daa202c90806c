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

// MemoryCache is a Cache that keeps what was used last in memory, each process its own.
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

// Match returns a copy of what was kept, unless its time is over.
func (m *MemoryCache) Match(_ context.Context, cache, url string) (*http.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element := m.entries[cacheEntryKey(cache, url)]
	if element == nil {
		return nil, nil
	}
	e := element.Value.(*cacheEntry)
	if !m.now().Before(e.until) {
		m.remove(element)
		return nil, nil
	}
	m.order.MoveToFront(element)
	header := e.header.Clone()
	header.Set("Cf-Cache-Status", "HIT")
	return &http.Response{
		StatusCode: e.status, Header: header, ContentLength: int64(len(e.body)),
		Body: &dataBody{bytes.NewReader(e.body)},
	}, nil
}

// Put keeps a response for as long as its headers say.
func (m *MemoryCache) Put(_ context.Context, cache, url string, r *http.Response, body []byte) error {
	life := lifetime(r, m.now())
	e := &cacheEntry{
		key: cacheEntryKey(cache, url), status: r.StatusCode, header: r.Header.Clone(), body: body, until: m.now().Add(life),
	}
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
	for m.bytes > m.maxBytes {
		m.remove(m.order.Back())
	}
	return nil
}

// Delete forgets a response.
func (m *MemoryCache) Delete(_ context.Context, cache, url string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element := m.entries[cacheEntryKey(cache, url)]
	if element == nil {
		return false, nil
	}
	m.remove(element)
	return true, nil
}

func (m *MemoryCache) remove(element *list.Element) {
	e := m.order.Remove(element).(*cacheEntry)
	delete(m.entries, e.key)
	m.bytes -= e.size()
}

// lifetime is how long a response may be kept; 0 when it may not. Without a word from its headers it is what
// Cloudflare's documentation names for its status.
func lifetime(r *http.Response, now time.Time) time.Duration {
	control := map[string]string{}
	for part := range strings.SplitSeq(strings.ToLower(r.Header.Get("Cache-Control")), ",") {
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
