// Package script is the worker process of a Worker written in JavaScript: it takes HTTP requests to the default export of
// a bundle, or to the listeners of one without exports.
//
//	ingress ──► Script ── least busy of a few isolates ──► webapi.Fetch ──► response
//	                        └─ env: vars, secrets, stubs of objects (runtime/env) ──► router ──► object host
//
// An event has a context of its own in its isolate, which ends when its response, and what it gave to ctx.waitUntil, is
// over. An error that the script does not catch is logged, and its client gets status 500. An isolate whose engine failed
// is replaced; the events on it fail.
//
// Addresses under /cdn-cgi/ are the runtime's own. Everything here may be called from any goroutine.
package script
