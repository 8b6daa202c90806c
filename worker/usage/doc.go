// Package usage is the worker's HTTP interface to what an organization's executions have used: GET /api/usage, with
// ?hours=N for the last N hours, the present one included (24 by default). It counts nothing: each organization's usage
// is in one object, named by the organization's ID. Who asks, and how errors look, is as in package api.
package usage
