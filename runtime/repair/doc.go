// Package repair works round faults of the engine in a program's syntax tree, before the engine compiles it: for Workers
// and for programs of execute alike. It touches no runtime; different trees may be repaired at once.
package repair
