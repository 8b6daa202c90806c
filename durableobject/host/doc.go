// Package host runs the Durable Objects of one store in one process: it takes calls, finds or makes the actor that
// each is for, wakes objects for their alarms, and drops actors that have nothing to do.
//
//	worker, other host ──gRPC──► Host.Fetch/Call ─► epoch? ─► class? ─► table ─► actor
//	this host's objects ──binding.Router, local──────────────────────────┘
//	alarm.Scheduler ─────────────────────────────────────────────────────┘
//
// Guarantees:
//   - a call with another epoch than the one that the router granted is refused, and did nothing;
//   - an object has at most one actor that takes events;
//   - an actor is evicted when it has had nothing to do for IdleTimeout, and not before;
//   - what left the host was on disk before;
//   - draining refuses new calls, lets what runs finish for DrainTimeout, and then breaks what is left.
//
// The host is a member of the router's membership by a lease that it renews. It goes on serving from its own store
// while the router is away, since nobody else has its objects.
//
// This package wires; it decides nothing that actor, gate, alarm or storage could. It alone knows telemetry here. All
// methods of Host may be called from any goroutine.
package host
