package kv

import (
	"context"
	"encoding/base64"

	"golang.org/x/sync/errgroup"

	"github.com/tandem-do/tandem/proto/kv"
	"github.com/tandem-do/tandem/proto/telemetry"
)

// ListOptions choose what List returns.
type ListOptions struct {
	// Prefix is what all keys begin with.
	Prefix string
	// Limit is the most keys to return; 0 or less means kv.MaxListKeys.
	Limit int
	// Cursor is one that an earlier page gave, or empty.
	Cursor string
}

// Page is a part of a list.
type Page struct {
	// Keys are in the order of their bytes.
	Keys []kv.Key
	// Cursor leads to the next page; it is empty when there is none.
	Cursor string
}

// List returns a page of keys. What is put or deleted while pages are read may or may not be in them; no other key is
// missed or there twice. Errors: *Error.
func (n *Namespace) List(ctx context.Context, o ListOptions) (Page, error) {
	limit := o.Limit
	if limit <= 0 {
		limit = kv.MaxListKeys
	}
	after, err := base64.RawURLEncoding.DecodeString(o.Cursor)
	if err != nil {
		return Page{}, refuse(opGet, "400 Invalid cursor.")
	}
	err = check(opGet, kv.CheckListLimit(limit), kv.CheckLength(o.Prefix), kv.CheckLength(string(after)))
	if err != nil {
		return Page{}, err
	}
	m := merge{namespace: n, prefix: o.Prefix, first: min(limit, limit/kv.Shards*2+8)}
	for i := range m.shards {
		m.shards[i] = shardList{number: i, after: string(after), more: true}
	}
	ctx, span := n.start(ctx, telemetry.SpanKVList, "list")
	keys, more, err := m.take(ctx, limit)
	span.SetString(telemetry.AttrKVPrefix, o.Prefix)
	span.SetInt(telemetry.AttrKVReturnedRows, int64(len(keys)))
	span.SetBool(telemetry.AttrKVListComplete, !more)
	span.End(err)
	if err != nil {
		return Page{}, explain(opGet, err)
	}
	page := Page{Keys: keys}
	if more {
		page.Cursor = base64.RawURLEncoding.EncodeToString([]byte(keys[len(keys)-1].Name))
	}
	return page, nil
}

// merge makes one list of the shards'.
type merge struct {
	namespace *Namespace
	prefix    string
	// first is how many keys a shard is asked for at once: twice its share, since keys are spread by chance.
	first  int
	shards [kv.Shards]shardList
}

// shardList is what is known of one shard's list.
type shardList struct {
	number int
	// keys were read and not taken yet; after is the last one read.
	keys  []kv.Key
	after string
	// more says that the shard has keys after that.
	more bool
}

// take returns the next keys, at most so many, and whether there are more.
func (m *merge) take(ctx context.Context, limit int) (keys []kv.Key, more bool, err error) {
	keys = make([]kv.Key, 0, min(limit, m.first*kv.Shards))
	for {
		if err := m.fill(ctx); err != nil {
			return nil, false, err
		}
		// Keys can be taken until a shard that has more runs dry: its next one may be the smallest.
		for {
			s := m.smallest()
			if s == nil {
				return keys, false, nil
			}
			if len(keys) == limit {
				return keys, true, nil
			}
			keys = append(keys, s.keys[0])
			if s.keys = s.keys[1:]; len(s.keys) == 0 && s.more {
				break
			}
		}
	}
}

// smallest returns the shard with the smallest key, or nil if there is none.
func (m *merge) smallest() *shardList {
	var found *shardList
	for i := range m.shards {
		s := &m.shards[i]
		if len(s.keys) > 0 && (found == nil || s.keys[0].Name < found.keys[0].Name) {
			found = s
		}
	}
	return found
}

// fill reads on in every shard that ran dry.
func (m *merge) fill(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := range m.shards {
		s := &m.shards[i]
		if len(s.keys) > 0 || !s.more {
			continue
		}
		g.Go(func() error {
			q := kv.List{Prefix: m.prefix, After: s.after, Limit: m.first}
			r, err := call[kv.ListResult](ctx, m.namespace, s.number, kv.MethodList, q)
			if err != nil {
				return err
			}
			s.keys, s.more = r.Keys, r.More && len(r.Keys) > 0
			if len(r.Keys) > 0 {
				s.after = r.Keys[len(r.Keys)-1].Name
			}
			return nil
		})
	}
	return g.Wait()
}
