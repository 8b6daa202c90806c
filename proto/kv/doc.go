// Package kv is what the class KV and the bindings of KV namespaces agree on: in which object a key is, the methods of that
// object and what they take and return, the limits of Workers KV, and the texts of its errors.
//
//	namespace "sessions" ──key's shard──► object "sessions/0" … "sessions/15" of the class KV
//
// A key is in one shard, which alone reads and writes it; a list asks all of them. The number of shards and the way from a
// key to its shard are part of what is on disk: they never change.
//
// Everything here is pure and may be used from any goroutine.
package kv
