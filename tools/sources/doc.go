// Package sources is `tandem sources`: it adds, shows and changes an organization's sources of tools by the worker's
// API, /api/sources.
//
// Secrets come from the environment, a file or standard input, go into a request's body and are printed nowhere. A
// Client is for one goroutine.
package sources
