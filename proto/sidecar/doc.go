// Package sidecar is the kit with which the processes of one stack speak to each other: listen, serve
// and dial with one set of deadlines, keepalive and message limits, the multiplexed stream that carries
// calls to Durable Objects, the metadata keys, and the one mapping between errors and gRPC statuses.
//
// It holds no policy: where an object runs is decided by the router and remembered by
// runtime/binding; what a call does is decided by the Handler.
package sidecar
