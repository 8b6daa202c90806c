package project

import (
	"fmt"
	"strings"
)

// Table returns Keys as a table of Markdown, for docs/migrating.md. Rows of the same status stand together, keys at
// the top level before what is below them; a key whose rows below say nothing has one row.
func Table() string {
	var b strings.Builder
	for _, part := range []struct {
		status      Status
		title, note string
	}{
		{Supported, "Supported", "What is below a key is supported where it has no row of its own."},
		{Unavailable, "Not available: the Worker runs without",
			"`env` has the binding, and each use of it fails with an error that " +
				"says why. Loading warns."},
		{Ignored, "Ignored", "The key changes nothing here. `tandem check` notes it."},
		{Refused, "Refused", "The project does not run. The error names the key and its place."},
	} {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n| Key | In environments | Here |\n|---|---|---|\n", part.title, part.note)
		for _, k := range Keys() {
			below := strings.ContainsAny(k.Path, ".[")
			if k.Status != part.status || below && k.Note == "" || k.Path == "env.*" {
				continue
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Path, scopeText(k, below), k.here())
		}
		b.WriteString("\n")
	}
	return b.String()
}

func scopeText(k Key, below bool) string {
	switch {
	case below:
		return ""
	case k.Scope == Inherited:
		return "inherited"
	case k.Scope == Own:
		return "not inherited"
	}
	return "top level only"
}

// here says what becomes of the key.
func (k Key) here() string {
	switch {
	case k.Note != "":
		return k.Note
	case k.Status == Supported:
		return "yes"
	}
	return k.Status.String()
}
