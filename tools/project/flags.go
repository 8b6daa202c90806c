package project

import (
	"slices"
	"strings"

	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/compatibility"
)

// flag takes a compatibility flag.
func (d *decoder) flag(m *bundle.Manifest, v *value) {
	var names []string
	for _, f := range compatibility.Flags() {
		names = append(names, f.Name)
		if f.Off != "" {
			names = append(names, f.Off)
		}
		if f.Name != v.text && f.Off != v.text {
			continue
		}
		other := f.Name
		if v.text == f.Name {
			other = f.Off
		}
		switch {
		case slices.Contains(m.CompatibilityFlags, other):
			d.fail("compatibility_flags[]", v, "the flags %q and %q exclude each other", other, v.text)
		case strings.HasPrefix(v.text, "python_"):
			d.fail("compatibility_flags[]", v, "%q: Python Workers are not supported", v.text)
		case f.Experimental:
			d.warn("compatibility_flags[]", v, "%q is experimental and has no effect here", v.text)
		}
		if !slices.Contains(m.CompatibilityFlags, v.text) {
			m.CompatibilityFlags = append(m.CompatibilityFlags, v.text)
		}
		return
	}
	d.fail("compatibility_flags[]", v, "there is no compatibility flag %q%s", v.text, suggestion(v.text, names))
}
