// Package env makes what scripts reach other things by: the env of a bundle with its vars, secrets and Durable Object
// namespaces, the stubs of objects, and the module cloudflare:workers.
//
//	bundle.Manifest ──Env──► env.COUNTER (namespace) ──getByName──► stub ──fetch, methods──► binding.Stub ──► object
//
// It also translates, for callers and for objects, what crosses between two scripts: values (in V8's format) and errors
// (with the properties remote, retryable, overloaded and durableObjectReset). Messages are those of workerd.
//
// Functions that take or return values of the engine are to be called on the isolate's goroutine; what a namespace sends
// leaves on other ones. Not there yet: functions and RpcTarget objects as arguments or results, pipelining, and service
// bindings; each is refused with an error that says so.
package env
