//go:build race

package admin

// raceDetector is true: Pebble checks and copies much more then.
const raceDetector = true
