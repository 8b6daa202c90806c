// Package directory is the store of users, organizations and memberships: who a token's subject is, and which
// organizations they may act for.
//
// One interface, Directory, over two databases: an SQLite file, which the worker and the development
// authorization server share as two processes, and PostgreSQL. Both hold the same tables and pass the same
// conformance tests. Open brings an older schema up to date and refuses a newer one untouched.
//
// E-mail addresses are compared without regard to case and are unique. A user and their first organization are made
// in one transaction; of those who race to make the same user, one wins and all get that user.
//
// A database that cannot be reached or does not answer in time is an error that wraps ErrUnavailable, so that a
// caller never takes an outage for a missing membership. Cached puts a short-lived cache in front, for the worker.
//
// The worker calls it once per request at most, tools/idp once per sign-in; every method may be called from any
// goroutine.
package directory
