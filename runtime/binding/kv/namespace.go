package kv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tandem-do/tandem/proto/kv"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/binding"
)

// Namespace is one KV namespace.
type Namespace struct{ options Options }

// Options say which namespace it is.
type Options struct {
	// Shards is the binding of the class KV. Required.
	Shards *binding.Namespace
	// ID names the namespace: whoever has the same ID and the same class shares it. Required.
	ID string
	// Binding is the binding's name in env, for spans.
	Binding string
}

// New returns a KV namespace.
func New(o Options) *Namespace { return &Namespace{options: o} }

// Error is why an operation failed, as a script sees it.
type Error struct {
	// Class is the class of the script's error: "TypeError" or "Error".
	Class string
	// Message is like "KV GET failed: 400 Invalid key encoding".
	Message string
	// Retryable says that the same operation may succeed.
	Retryable bool
	// Cause is what went wrong on the way, or nil. It is not for scripts.
	Cause error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// The operations in the texts of errors.
const (
	opGet    = "GET"
	opBulk   = "GET_BULK"
	opPut    = "PUT"
	opDelete = "DELETE"
)

func refuse(op, text string) *Error {
	return &Error{Class: "Error", Message: fmt.Sprintf("KV %s failed: %s", op, text)}
}

// check returns the error of the first fault, or nil.
func check(op string, faults ...*kv.Fault) error {
	for _, f := range faults {
		if f != nil {
			return refuse(op, f.Error())
		}
	}
	return nil
}

// explain makes the error of an operation of one of a call.
func explain(op string, err error) error {
	e, ok := errors.AsType[*sidecar.Error](err)
	switch {
	case ok && e.Name == kv.ErrorName:
		return refuse(op, e.Message)
	case ok && (e.Retryable || e.Overloaded):
		r := refuse(op, "503 Service Unavailable")
		r.Retryable, r.Cause = e.Retryable, err
		return r
	}
	text := "500 Internal Server Error"
	if ok && e.Reason == sidecar.ReasonDeadline {
		text = "504 Gateway Timeout"
	}
	r := refuse(op, text)
	r.Cause = err
	return r
}

// checkKey says what is wrong with the key of an operation on a single one.
func (n *Namespace) checkKey(op, key string) error {
	switch key {
	case "":
		return &Error{Class: "TypeError", Message: "Key name cannot be empty."}
	case ".", "..":
		return &Error{Class: "TypeError", Message: fmt.Sprintf("%q is not allowed as a key name.", key)}
	}
	return check(op, kv.CheckKey(key))
}

// callTimeout bounds one call of a shard.
const callTimeout = 30 * time.Second

// call runs a method of a shard.
func call[R any](ctx context.Context, n *Namespace, shard int, method string, arg any) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var r R
	args, err := v8value.MarshalArguments(arg)
	if err != nil {
		return r, err
	}
	b, err := n.options.Shards.GetByName(kv.ObjectName(n.options.ID, shard)).Call(ctx, method, args)
	if err != nil {
		return r, err
	}
	return r, v8value.Unmarshal(b, &r)
}

// ReadOptions change a read.
type ReadOptions struct {
	// CacheTTL is for how long the value may be cached, in seconds; nil is the default. Nothing is cached here.
	CacheTTL *int64
	// WithMetadata says, for the span, that the metadata is asked for too.
	WithMetadata bool
}

func (o ReadOptions) span() string {
	if o.WithMetadata {
		return telemetry.SpanKVGetWithMetadata
	}
	return telemetry.SpanKVGet
}

func (o ReadOptions) fault() *kv.Fault {
	if o.CacheTTL == nil {
		return nil
	}
	return kv.CheckCacheTTL(*o.CacheTTL)
}

// CheckGet says what is wrong with a read before it is made.
func (n *Namespace) CheckGet(key string) error { return n.checkKey(opGet, key) }

// Get reads a key. Errors: *Error.
func (n *Namespace) Get(ctx context.Context, key string, o ReadOptions) (kv.Entry, error) {
	if err := n.checkKey(opGet, key); err != nil {
		return kv.Entry{}, err
	}
	if err := check(opGet, o.fault()); err != nil {
		return kv.Entry{}, err
	}
	ctx, span := n.start(ctx, o.span(), "get", key)
	r, err := call[kv.GetResult](ctx, n, kv.Shard(key), kv.MethodGet, kv.Get{Keys: []string{key}})
	if err == nil && len(r.Entries) != 1 {
		err = errAnswer
	}
	defer func() { span.End(err) }()
	if err != nil {
		return kv.Entry{}, explain(opGet, err)
	}
	span.SetInt(telemetry.AttrKVReturnedRows, 1)
	span.SetInt(telemetry.AttrKVResponseSize, int64(len(r.Entries[0].Value)))
	return r.Entries[0], nil
}

// start begins the span of an operation.
func (n *Namespace) start(ctx context.Context, name, operation string, keys ...string) (context.Context, telemetry.Span) {
	ctx, span := telemetry.Start(ctx, name)
	if span.Sampled() {
		span.SetString(telemetry.AttrDBSystem, "cloudflare-kv")
		span.SetString(telemetry.AttrDBOperation, operation)
		span.SetString(telemetry.AttrBindingName, n.options.Binding)
		span.SetString(telemetry.AttrBindingType, "KV")
		if len(keys) > 0 {
			span.SetString(telemetry.AttrKVKeys, shorten(strings.Join(keys, ", ")))
			span.SetInt(telemetry.AttrKVKeysCount, int64(len(keys)))
		}
	}
	return ctx, span
}

// shorten cuts a list of keys as workerd does.
func shorten(keys string) string {
	if len(keys) > 512 {
		return keys[:509] + "..."
	}
	return keys
}

var errAnswer = errors.New("a shard gave another number of entries than was asked for")

// GetBulk reads up to kv.MaxBulkKeys keys, and returns an entry for each. Errors: *Error.
func (n *Namespace) GetBulk(ctx context.Context, keys []string, o ReadOptions) ([]kv.Entry, error) {
	if err := check(opBulk, kv.CheckBulk(len(keys))); err != nil {
		return nil, err
	}
	var shards [kv.Shards][]int // indexes of keys
	for i, key := range keys {
		if err := check(opBulk, kv.CheckKey(key), o.fault()); err != nil {
			return nil, err
		}
		at := kv.Shard(key)
		shards[at] = append(shards[at], i)
	}
	ctx, span := n.start(ctx, o.span(), "get", keys...)
	entries, err := n.getAll(ctx, keys, &shards)
	span.End(err)
	if err != nil {
		return nil, explain(opBulk, err)
	}
	total := 0
	for _, e := range entries {
		total += len(e.Value)
	}
	if total > kv.MaxValueBytes {
		return nil, check(opBulk, kv.TooMuch())
	}
	return entries, nil
}

// getAll reads keys, whose indexes are given by shard.
func (n *Namespace) getAll(ctx context.Context, keys []string, shards *[kv.Shards][]int) ([]kv.Entry, error) {
	entries := make([]kv.Entry, len(keys))
	g, ctx := errgroup.WithContext(ctx)
	for shard, indexes := range shards {
		if len(indexes) > 0 {
			g.Go(func() error { return n.getFrom(ctx, shard, indexes, keys, entries) })
		}
	}
	return entries, g.Wait()
}

// getFrom reads those keys that are in one shard.
func (n *Namespace) getFrom(ctx context.Context, shard int, indexes []int, keys []string, entries []kv.Entry) error {
	q := kv.Get{Keys: make([]string, len(indexes))}
	for i, at := range indexes {
		q.Keys[i] = keys[at]
	}
	r, err := call[kv.GetResult](ctx, n, shard, kv.MethodGet, q)
	if err == nil && len(r.Entries) != len(indexes) {
		err = errAnswer
	}
	if err != nil {
		return err
	}
	for i, at := range indexes {
		entries[at] = r.Entries[i]
	}
	return nil
}

// WriteOptions change a write.
type WriteOptions struct {
	// Metadata is JSON, or empty.
	Metadata string
	// Expiration is when the key goes, in seconds since 1970. TTL is after how many seconds, and stands before it.
	Expiration, TTL *int64
}

// CheckPut says what is wrong with a write before its value is known.
func (n *Namespace) CheckPut(key string) error { return n.checkKey(opPut, key) }

// CheckLength says what is wrong with the length of a value. Errors: *Error.
func (n *Namespace) CheckLength(length int64) error { return check(opPut, kv.CheckValue(length)) }

// Put sets a key; value must not be changed until it returns. Errors: *Error.
func (n *Namespace) Put(ctx context.Context, key string, value []byte, o WriteOptions) error {
	if err := n.checkKey(opPut, key); err != nil {
		return err
	}
	if err := check(opPut, kv.CheckMetadata(o.Metadata), kv.CheckValue(int64(len(value)))); err != nil {
		return err
	}
	q := kv.Put{Key: key, Value: value, Metadata: o.Metadata, Expiration: o.Expiration, TTL: o.TTL}
	ctx, span := n.start(ctx, telemetry.SpanKVPut, "put", key)
	span.SetInt(telemetry.AttrKVPayloadSize, int64(len(value)))
	_, err := call[kv.Done](ctx, n, kv.Shard(key), kv.MethodPut, q)
	span.End(err)
	if err != nil {
		return explain(opPut, err)
	}
	return nil
}

// Delete removes a key; it need not be there. Errors: *Error.
func (n *Namespace) Delete(ctx context.Context, key string) error {
	if err := n.checkKey(opDelete, key); err != nil {
		return err
	}
	ctx, span := n.start(ctx, telemetry.SpanKVDelete, "delete", key)
	_, err := call[kv.Done](ctx, n, kv.Shard(key), kv.MethodDelete, kv.Delete{Key: key})
	span.End(err)
	if err != nil {
		return explain(opDelete, err)
	}
	return nil
}
