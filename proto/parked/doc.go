// Package parked keeps goroutines that have done a short piece of work for the next one. One that has worked before has
// the stack that the next piece needs: growing it anew took a tenth of a short event's time, and a fifth of a short call's.
//
// A Goroutines may be used from any goroutine.
package parked
