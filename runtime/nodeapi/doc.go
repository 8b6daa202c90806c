// Package nodeapi holds modules of Node.js for isolates, one file a module, and the globals that come with them.
//
// Modules gives what an isolate's options take; Install gives what defines the globals, after those of webapi. Which
// modules there are is the table of runtime/compatibility. What is hot is Go; the rest is the prelude, scripts in the
// folder of that name, each of which is compiled once a process and run in an isolate when it is first used.
//
//	require("node:crypto") ──► module ──► load: prelude/crypto.js ──► host functions in Go
//	                             └──► stubs.js, for a module of which there are only the names
//
// A script's value is a function of the host's functions and of use, which gives what another script gives. What a
// script may not do at global scope (random bytes, timers, keys) is refused there by the host's functions; what they
// compute and hold is bounded by constants beside them.
//
// Texts and codes of errors are Node's, and workerd's where it says something of its own. It has no files, sockets,
// servers or processes: what is about these has its names, and throws workerd's error when it is called.
//
// All of it runs on the isolate's goroutine, but for keys that are derived with a callback.
package nodeapi
