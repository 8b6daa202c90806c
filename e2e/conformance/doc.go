// Package conformance will hold differential runs against workerd.
package conformance
