// Package sources is the worker's HTTP interface to the sources of tools: /api/sources, /api/sources/{id},
// /api/sources/{id}/refresh and /api/sources/{id}/tools.
//
// It holds nothing. Each organization's sources are in one object, named by the organization's ID; this package reads the
// input and calls the object. Authentication, errors and the rest are package api's.
//
// Secrets come in and never go out: what is answered has none, and no message quotes one.
package sources
