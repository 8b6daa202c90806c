// Package kvapi is env.KV: the object by which scripts use a KV namespace.
//
//	env.KV.get("photo", "stream") ──► runtime/binding/kv ──► a shard
//
// Types of values, conversions of arguments and texts of errors are those of npm workerd 1.20261117.1; so is cacheStatus.
// Unlike workerd: a bulk read returns keys that look like array indexes too, in the order that was asked for; a stream
// that is too long is canceled once that is known; deleteBulk is not there.
//
// All of it runs on the isolate's goroutine; what it sends leaves on other ones, with the context of its event.
package kvapi
