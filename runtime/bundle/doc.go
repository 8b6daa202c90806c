// Package bundle is what a Worker is once it is built: one script that the engine runs as it is, its source map, and
// a Manifest of everything that a process has to know of the Worker's configuration.
//
//	project (tools/project) ──► build (runtime/bundle/build) ──► Bundle ──Write──► file ──Open──► worker, durableobject
//
// A bundle is content-addressed: its Hash covers the code, the source map and the manifest, so that two processes
// that name one hash run the same thing. It holds no secrets: the manifest has only the names of those that the
// Worker needs.
//
// A file is a gzipped tar archive of three members (manifest.json, worker.js, worker.js.map) behind a header with the
// format's version and the hash. Open takes nothing on trust: sizes are bounded, members are known, the hash is
// checked.
//
// Everything here is a value or a pure function and may be used from any goroutine. A Bundle must not be changed once
// it is made.
package bundle
