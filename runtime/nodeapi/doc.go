// Package nodeapi holds modules of Node.js for isolates, one file a module, and the globals that come with them.
//
// Modules gives what an isolate's options take; Install gives what defines the globals, after those of webapi. Which
// modules there are is the table of runtime/compatibility. What is hot is Go; the rest is the prelude, scripts in the
// folder of that name, which are compiled once a process and of which an isolate runs what is used.
//
// Texts and codes of errors are Node's, and workerd's where it says something of its own.
//
// All of it runs on the isolate's goroutine.
package nodeapi
