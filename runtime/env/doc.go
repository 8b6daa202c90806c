// Package env makes what scripts reach other things by: the env of a bundle with its vars, secrets and Durable Object
// namespaces, the stubs of objects, and the module cloudflare:workers.
//
//	bundle.Manifest ──Env──► env.COUNTER (namespace) ──getByName──► stub ──fetch, methods──► binding.Stub ──► object
//
// It also translates, for callers and for objects, what crosses between two scripts: values (in V8's format) and errors
// (with the properties remote, retryable, overloaded and durableObjectReset). Messages are those of workerd.
//
// Functions, instances of RpcTarget and streams cross as stubs:
//
//	one script                                             the other
//	function ──encode──► export ══ sidecar.Stub ══► held ──decode──► RpcStub (a proxy of a node)
//	     ▲                                                               │
//	     └─────── Received: an event of the export's context ◄── Invoke ─┘
//
// An export lives until its last reference is dropped, and keeps its context from ending if that is of a call whose result
// it is part of. A reference (held) ends when the script disposes of it, at the end of the call that it was an argument of,
// at the end of its context, or when the engine has forgotten it. A call returns an RpcPromise; what is called on that
// follows the call, over the wire too, and stubs of its result come behind. Calls of an object's exports are events of the
// object, behind its gates, and what an object sends to a stub leaves as all its calls do (Owner).
//
// Functions that take or return values of the engine are to be called on the isolate's goroutine; what a namespace sends
// leaves on other ones.
package env
