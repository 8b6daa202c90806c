// Package repair works round faults of the engine in a program's syntax tree, before the engine compiles it, and spares
// it work: for Workers and for programs of execute alike. Different trees may be repaired at once. What repaired trees
// call, Install brings to a runtime, on that runtime's goroutine.
package repair
