// Package soak has many sessions of several organizations execute without pause, and counts what a stack holds before and
// after: so it tells whether waits are fair between organizations, and whether anything is leaked. The benchmark command
// runs it for minutes, the end-to-end tests for seconds. Mix does the same with requests of a Worker.
package soak
