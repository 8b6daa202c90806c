// Package connect opens sources: it makes of what is known about one (kind, address, document, credentials) a connection
// of package mcpclient or openapi, over an HTTP client that reaches public addresses alone unless told otherwise.
//
// It keeps nothing. A Connector may be used from any goroutine.
package connect
