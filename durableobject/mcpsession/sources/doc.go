// Package sources is the Durable Object class of an organization's sources of tools: what they are, the tools that they
// had when they were last asked, and the calls of these.
//
//	worker ──list create update remove refresh──► Sources ──► upstream.Connector ──HTTP──► the source
//	Execution ──search lookup call──────────────────┘  └────► pool (connections shared in the process)
//
// Keys of the object:
//
//	source/<id>      the record: name, address, kind, state of the last refresh
//	secret/<id>      the secret, sealed
//	document/<id>    the OpenAPI document
//	index/<id>       paths and short descriptions of the tools
//	tool/<id>/<n>    one tool in full
//
// Guarantees: a source's tools change together and only when it was reached; a secret is stored sealed for this object and
// this source, goes nowhere but to the source, and is in no answer, log, span or export; the address of a source never
// changes, so that a secret reaches no other; what a source sends is bounded in number and size. Nothing of a source is
// asked within a turn: a slow one holds up none of the others.
//
// Methods run in turns of their objects.
package sources
