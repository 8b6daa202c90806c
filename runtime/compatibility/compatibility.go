// Package compatibility knows workerd's compatibility flags: which there are, and which are on for a date and the
// flags that a Worker asks for. What a flag changes is the business of the package that it is about.
//
// It is pure and may be used from any goroutine.
package compatibility

import (
	_ "embed"
	"strings"
)

// NewestDate is the newest compatibility date that this version knows: that of the workerd it is compared with.
const NewestDate = "2026-11-17"

//go:embed flags.txt
var table string

// Flag is one of workerd's flags.
type Flag struct {
	// Name switches it on, Off switches it off; Off may be empty.
	Name, Off string
	// Since is the compatibility date from which it is on, as YYYY-MM-DD, or empty.
	Since string
	// Experimental flags are refused by Cloudflare.
	Experimental bool
	// Implied are the flags that switch it on too.
	Implied []Implied
}

// Implied says that a flag switches another on from a compatibility date on.
type Implied struct{ By, Since string }

// Flags returns all flags, in workerd's order.
func Flags() []Flag {
	var list []Flag
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 4 || f[0] == "#" {
			continue
		}
		one := Flag{Name: f[0], Off: strings.TrimPrefix(f[1], "-"), Since: strings.TrimPrefix(f[2], "-"),
			Experimental: f[3] == "experimental"}
		for _, text := range f[4:] {
			by, since, _ := strings.Cut(text, "@")
			one.Implied = append(one.Implied, Implied{By: by, Since: since})
		}
		list = append(list, one)
	}
	return list
}

// Resolve returns every flag's name and whether it is on for a date and the flags that a Worker asks for. Of two that
// exclude each other the one that switches off counts; an empty date is the oldest.
func Resolve(date string, asked []string) map[string]bool {
	wanted := map[string]bool{}
	for _, name := range asked {
		wanted[name] = true
	}
	all := Flags()
	on := make(map[string]bool, len(all))
	decide := func(f Flag) bool {
		switch {
		case f.Off != "" && wanted[f.Off]:
			return false
		case wanted[f.Name], f.Since != "" && date >= f.Since:
			return true
		}
		for _, i := range f.Implied {
			if on[i.By] && date >= i.Since {
				return true
			}
		}
		return false
	}
	// What is implied may imply more. Nothing that is on goes off, so that this ends.
	for changed := true; changed; {
		changed = false
		for _, f := range all {
			if !on[f.Name] && decide(f) {
				on[f.Name], changed = true, true
			}
		}
	}
	for _, f := range all {
		if !on[f.Name] {
			on[f.Name] = false
		}
	}
	return on
}
