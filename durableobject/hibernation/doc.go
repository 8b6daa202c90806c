// Package hibernation will hold the state of sockets whose object has left memory: those that the object accepted, their
// tags and attachments, and which events wake it. WebSockets fill it; nothing of it is here yet.
//
// What it is built on is there, and in use by timers, exported functions and queues of other hosts' calls:
//
//   - actor.State.Hold keeps an object from eviction while a socket is open that may not hibernate;
//   - actor.State.Deliver runs a message of such a socket as an event of the object's own, with a turn and the output gate;
//   - actor.State.OnEnd tells when the instance is evicted or breaks, after which its sockets hibernate or are closed;
//   - host.Host.Invoke brings an object to life for an event that comes from elsewhere than a request or a call.
package hibernation
