// Package egress is the HTTP client with which sources of tools are reached. Their addresses come from people who must not
// reach what this machine can reach: its own loopback, the private network around it, a cloud's metadata service.
//
// The guarantee: unless Options.AllowPrivate, no connection is made to an address that is not globally reachable unicast by
// IANA's registries of special purpose addresses, whatever its form (IPv4-mapped, NAT64, 6to4, Teredo). The check is on the
// address that is dialled, after the name was resolved, for each connection, so neither redirects nor names that resolve
// differently the second time get round it. No proxy of the environment is used. Credentials do not follow a redirect to
// another origin; sizes and waits have limits.
//
// Not guaranteed: that a public address is harmless, or that names are resolved nowhere: the resolver is asked before the
// check can be made.
//
// A client may be used from any goroutine. Its idle connections end by CloseIdleConnections or after a minute.
package egress
