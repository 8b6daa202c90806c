//go:build race

package program

// raceDetector is true when the children carry the race detector, whose own memory breaks their limits.
const raceDetector = true
