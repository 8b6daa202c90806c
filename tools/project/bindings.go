package project

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/tandem-do/tandem/runtime/bundle"
)

// maxShownVar is how much of a variable's value is shown, in characters.
const maxShownVar = 60

// WriteBindings lists what a Worker finds in env and where that lives, like wrangler dev. Of secrets it shows names only. It
// writes nothing if there is nothing.
func WriteBindings(out io.Writer, m *bundle.Manifest, secrets map[string]string) error {
	var rows [][3]string
	add := func(name, what, kind, where string) {
		if what != "" {
			name += " (" + what + ")"
		}
		rows = append(rows, [3]string{"env." + name, kind, where})
	}
	for _, d := range m.DurableObjects {
		what := d.Class
		if d.Script != m.Name {
			what += ", defined in " + d.Script
		}
		add(d.Binding, what, "Durable Object", "local")
	}
	for _, k := range m.KV {
		add(k.Binding, k.ID, "KV namespace", "local")
	}
	for _, s := range m.Services {
		what := s.Worker
		if s.Entrypoint != "" {
			what += "#" + s.Entrypoint
		}
		add(s.Binding, what, "Worker", "local")
	}
	for _, v := range m.Vars {
		if _, secret := secrets[v.Name]; !secret {
			add(v.Name, shownVar(v.Value), "variable", "local")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		add(name, "hidden", "secret", "local")
	}
	for _, u := range m.Unavailable {
		add(u.Binding, "", u.Key, "not available: "+u.Reason)
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(out, "%s has access to these bindings:\n", m.Name); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", r[0], r[1], r[2])
	}
	return w.Flush()
}

// shownVar shortens a value to one line.
func shownVar(v json.RawMessage) string {
	text := string(v)
	if utf8.RuneCountInString(text) <= maxShownVar {
		return text
	}
	return string([]rune(text)[:maxShownVar-1]) + "…"
}
