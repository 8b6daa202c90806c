package frame

import "fmt"

// SizeText writes the size of a limit as people do: in MiB where that is a whole number. Parent and child name the limits
// that were passed in the same words.
func SizeText(n uint64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
