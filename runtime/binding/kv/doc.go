// Package kv is what a binding of a KV namespace does, without a script: it finds the shard of a key, merges the shards'
// lists, and words errors as Cloudflare's API does.
//
//	Namespace.Put("photo") ──► shard of the key ──► object "<id>/11" of the class KV
//	Namespace.List ──────────► all shards, page by page ──► one list in the order of the keys
//
// What is wrong with a request is found before anything is sent where that is possible. A value is held in memory while it
// is on its way. Nothing is repeated: a Put that failed because its host went away may have been made.
//
// A Namespace may be used from any goroutine. Calls end with their context.
package kv
