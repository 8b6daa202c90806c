//go:build !race

package admin

// raceDetector is false: memory can be measured then.
const raceDetector = false
