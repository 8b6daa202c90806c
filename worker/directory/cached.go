package directory

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/tandem-do/tandem/proto/telemetry"
)

const (
	// cacheTTL is how long a membership is believed: a removed one is refused this much later at the latest.
	cacheTTL = 10 * time.Second
	// cacheEntries bounds the cache; an entry is about 300 bytes.
	cacheEntries = 8192
)

// Cached returns d with a cache in front of Organization: memberships are believed for ten seconds, and those who ask
// for the same one at once share one query. Each question is a span of its own trace, answered by a query or not.
// Refusals and errors are not kept, so that a new membership counts at once. Closing it closes d.
func Cached(d Directory) Directory {
	entries, err := lru.New[memberKey, memberEntry](cacheEntries)
	if err != nil {
		panic("directory: cache of a fixed size: " + err.Error())
	}
	return &cached{Directory: d, entries: entries}
}

type memberKey struct{ account, organization string }

type memberEntry struct {
	membership Membership
	until      time.Time
}

type cached struct {
	Directory
	entries *lru.Cache[memberKey, memberEntry]
	flights singleflight.Group
}

// Organization implements Directory.
func (c *cached) Organization(ctx context.Context, accountID, organizationID string) (Membership, error) {
	ctx, span := telemetry.Start(ctx, telemetry.SpanGetOrganization)
	m, err := c.organization(ctx, accountID, organizationID)
	span.End(err)
	return m, err
}

func (c *cached) organization(ctx context.Context, accountID, organizationID string) (Membership, error) {
	key := memberKey{accountID, organizationID}
	if e, ok := c.entries.Get(key); ok && time.Now().Before(e.until) {
		return e.membership, nil
	}
	// The query outlives the one who asked first, since others may wait for it; its own timeout bounds it.
	shared := context.WithoutCancel(ctx)
	flight := c.flights.DoChan(accountID+"\x00"+organizationID, func() (any, error) {
		return c.load(shared, key)
	})
	select {
	case r := <-flight:
		if r.Err != nil {
			return Membership{}, r.Err
		}
		return r.Val.(Membership), nil
	case <-ctx.Done():
		return Membership{}, unavailable("read membership", context.Cause(ctx))
	}
}

// load asks the directory and keeps a good answer.
func (c *cached) load(ctx context.Context, key memberKey) (Membership, error) {
	m, err := c.Directory.Organization(ctx, key.account, key.organization)
	if err == nil {
		c.entries.Add(key, memberEntry{m, time.Now().Add(cacheTTL)})
	}
	return m, err
}
