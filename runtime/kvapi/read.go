package kvapi

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/dop251/goja"

	protokv "github.com/tandem-do/tandem/proto/kv"
	"github.com/tandem-do/tandem/runtime/binding/kv"
	"github.com/tandem-do/tandem/runtime/webapi"
)

const unknownType = `Unknown response type. Possible types are "text", "arrayBuffer", "json", and "stream".`

// cacheStatus is what workerd says of every read of a single key.
const cacheStatus = "MISS"

// get(handle, key, type, cacheTtl, withMetadata, streamOf) promises a value, or one with its metadata.
func (c *class) get(call goja.FunctionCall) goja.Value {
	i := c.realm.Isolate()
	i.RequireEvent()
	n, key, kind := handleOf(call), keyOf(call.Argument(1)), "text"
	if v := call.Argument(2); !goja.IsUndefined(v) {
		kind = v.String()
	}
	o := kv.ReadOptions{CacheTTL: integer(call.Argument(3)), WithMetadata: call.Argument(4).ToBoolean()}
	streamOf, _ := goja.AssertFunction(call.Argument(5))
	c.demand(n.CheckGet(key))
	place := n.take(key)
	return i.Go(func(ctx context.Context) func() (goja.Value, error) {
		defer place.End()
		e, err := n.Get(place.Begin(ctx), key, o)
		return func() (goja.Value, error) {
			if err != nil {
				return nil, c.rejection(err)
			}
			value := goja.Null()
			if e.Found {
				if value, err = c.value(e.Value, kind, streamOf); err != nil {
					return nil, err
				}
			}
			if !o.WithMetadata {
				return value, nil
			}
			return c.withMetadata(value, e.Metadata, true), nil
		}
	})
}

// value makes a value of a type.
func (c *class) value(b []byte, kind string, streamOf goja.Callable) (goja.Value, error) {
	rt := c.realm.Isolate().Runtime()
	switch kind {
	case "text":
		return rt.ToValue(webapi.DecodeUTF8(b)), nil
	case "json":
		return c.realm.Isolate().ParseJSON(webapi.DecodeUTF8(b)), nil
	case "arrayBuffer":
		return rt.ToValue(rt.NewArrayBuffer(b)), nil
	case "stream":
		return streamOf(goja.Undefined(), rt.ToValue(rt.NewArrayBuffer(b)))
	}
	return nil, c.rejection(&kv.Error{Class: "TypeError", Message: unknownType})
}

// withMetadata makes {value, metadata, cacheStatus}, or without the last.
func (c *class) withMetadata(value goja.Value, metadata string, single bool) goja.Value {
	i := c.realm.Isolate()
	o := i.Runtime().NewObject()
	_ = o.Set("value", value)
	if metadata == "" {
		_ = o.Set("metadata", goja.Null())
	} else {
		_ = o.Set("metadata", i.ParseJSON(metadata))
	}
	if single {
		_ = o.Set("cacheStatus", cacheStatus)
	}
	return o
}

// bulk(handle, keys, type, cacheTtl, withMetadata) promises a Map.
func (c *class) bulk(call goja.FunctionCall) goja.Value {
	i := c.realm.Isolate()
	n, kind := handleOf(call), optional(call.Argument(2))
	o := kv.ReadOptions{CacheTTL: integer(call.Argument(3)), WithMetadata: call.Argument(4).ToBoolean()}
	list := call.Argument(1).(*goja.Object)
	keys := make([]string, list.Get("length").ToInteger())
	for at := range keys {
		keys[at] = keyOf(list.Get(strconv.Itoa(at)))
	}
	return i.Async(func() goja.Value {
		i.RequireEvent()
		switch kind {
		case "", "text", "json":
		default:
			c.demand(bulkError(`"` + kind + `" is not a valid type. Use "json" or "text"`))
		}
		return i.Go(func(ctx context.Context) func() (goja.Value, error) {
			entries, err := n.GetBulk(ctx, keys, o)
			return func() (goja.Value, error) {
				if err != nil {
					return nil, c.rejection(err)
				}
				return c.mapOf(keys, entries, kind, o.WithMetadata)
			}
		})
	})
}

func bulkError(text string) *kv.Error {
	return &kv.Error{Class: "Error", Message: "KV GET_BULK failed: 400 " + text}
}

// mapOf makes the Map of a bulk read.
func (c *class) mapOf(keys []string, entries []protokv.Entry, kind string, withMetadata bool) (goja.Value, error) {
	rt := c.realm.Isolate().Runtime()
	m, err := rt.New(rt.Get("Map"))
	if err != nil {
		return nil, err
	}
	set, _ := goja.AssertFunction(m.Get("set"))
	for at, e := range entries {
		v := goja.Null()
		if e.Found {
			if v, err = c.bulkValue(e.Value, kind); err != nil {
				return nil, err
			}
			if withMetadata {
				v = c.withMetadata(v, e.Metadata, false)
			}
		}
		if _, err := set(m, rt.ToValue(keys[at]), v); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (c *class) bulkValue(b []byte, kind string) (goja.Value, error) {
	if kind == "json" && !json.Valid(b) {
		return nil, c.rejection(bulkError("At least one of the requested keys corresponds to a non-json value"))
	}
	if kind == "" {
		kind = "text"
	}
	return c.value(b, kind, nil)
}

// list(handle, limit, prefix, cursor) promises a page.
func (c *class) list(call goja.FunctionCall) goja.Value {
	i := c.realm.Isolate()
	i.RequireEvent()
	n := handleOf(call)
	o := kv.ListOptions{Prefix: optional(call.Argument(2)), Cursor: optional(call.Argument(3))}
	if limit := integer(call.Argument(1)); limit != nil {
		o.Limit = int(*limit)
	}
	return i.Go(func(ctx context.Context) func() (goja.Value, error) {
		page, err := n.List(ctx, o)
		var text []byte
		if err == nil {
			text, err = json.Marshal(describe(page))
		}
		return func() (goja.Value, error) {
			if err != nil {
				return nil, c.rejection(err)
			}
			return i.ParseJSON(string(text)), nil
		}
	})
}

// listResult is what a script sees of a page.
type listResult struct {
	Keys         []listKey `json:"keys"`
	ListComplete bool      `json:"list_complete"`
	Cursor       string    `json:"cursor,omitempty"`
	CacheStatus  *string   `json:"cacheStatus"`
}

type listKey struct {
	Name       string          `json:"name"`
	Expiration int64           `json:"expiration,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
}

func describe(p kv.Page) listResult {
	r := listResult{Keys: make([]listKey, len(p.Keys)), ListComplete: p.Cursor == "", Cursor: p.Cursor}
	for i, k := range p.Keys {
		r.Keys[i] = listKey{Name: k.Name, Expiration: k.Expiration, Metadata: json.RawMessage(k.Metadata)}
	}
	return r
}
