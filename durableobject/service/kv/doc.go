// Package kv is the class KV: an object of it holds one shard of a KV namespace. proto/kv has what its methods take and
// return; runtime/binding/kv is how bindings reach it.
//
// Keys of an object's storage:
//
//	key/<name>             a record: size, metadata, expiration, and the value itself if that is small
//	piece/<nnn>/<name>     part nnn of a larger value, 64 KiB each
//	expires/<time>/<name>  the name of a key that goes at that time, in seconds since 1970
//
// Guarantees: each method is one turn, so that a key's value, metadata and expiration always belong together, and what Put
// has returned is on disk and seen by every later read. A key is gone for every read from its expiration on; an alarm
// deletes what is left of it, once a minute at most.
//
// Unlike Cloudflare's: reads are never stale, there is no cache in front, and no limit on writes per second.
//
// The host calls it, on the turns of its objects.
package kv
