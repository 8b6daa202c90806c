// Package webapi holds the web platform's globals for isolates, one file a global, and takes HTTP requests into a
// script.
//
// Install gives the function that an isolate's options name; Fetch delivers a request to a script's fetch handler and
// returns its response. What runs on every request is Go behind the engine's objects; the rest is the prelude, scripts
// in the folder of that name, of which an isolate runs what is used.
//
// Messages of errors are those of workerd, since programs and people look for them.
//
// All of it runs on the isolate's goroutine, but for Fetch and the bodies of requests and responses, which may be used
// from any.
package webapi
