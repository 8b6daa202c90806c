package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Format says how a script takes events.
type Format string

const (
	// FormatModules is an ES module whose exports take events.
	FormatModules Format = "modules"
	// FormatServiceWorker is a script that calls addEventListener; it exports nothing.
	FormatServiceWorker Format = "service-worker"
)

// Manifest is what a process knows of a Worker beside its code. Names are those of the script's configuration.
type Manifest struct {
	// Name is the Worker's name, with the environment's after a hyphen unless that one has a name of its own.
	Name string `json:"name"`
	// Environment is the name of the environment that was built, or empty.
	Environment string `json:"environment,omitempty"`
	// CompatibilityDate is a date as YYYY-MM-DD.
	CompatibilityDate string `json:"compatibility_date"`
	// CompatibilityFlags are the flags that were asked for beside those of the date.
	CompatibilityFlags []string `json:"compatibility_flags,omitempty"`
	// Format says how the script takes events.
	Format Format `json:"format"`
	// Main is the entry's source file, relative to the project's directory, with slashes.
	Main string `json:"main"`
	// Exports are the names that the entry exports, sorted. It is empty for a script of the CommonJS format, whose names
	// are known only once it runs.
	Exports []string `json:"exports,omitempty"`

	// Vars are the plain values of env.
	Vars []Var `json:"vars,omitempty"`
	// Secrets are the names of the secrets that the Worker needs.
	Secrets []string `json:"secrets,omitempty"`
	// Classes are the Durable Object classes that the script itself has.
	Classes []Class `json:"classes,omitempty"`
	// DurableObjects are the bindings of namespaces.
	DurableObjects []DurableObject `json:"durable_objects,omitempty"`
	// Services are the bindings of other Workers.
	Services []Service `json:"services,omitempty"`
	// KV are the bindings of KV namespaces.
	KV []KV `json:"kv_namespaces,omitempty"`
	// Unavailable are the bindings of what is not there: each use of one fails with its reason.
	Unavailable []Unavailable `json:"unavailable,omitempty"`
	// Crons are the schedules of the script's scheduled handler, as they were written.
	Crons []string `json:"crons,omitempty"`
}

// Var is a plain value of env.
type Var struct {
	// Name is its name in env.
	Name string `json:"name"`
	// Value is its value as JSON. A string is a string in env, anything else is what JSON.parse makes of it.
	Value json.RawMessage `json:"value"`
}

// Class is a Durable Object class.
type Class struct {
	// Name is the export's name.
	Name string `json:"name"`
	// SQLite says that its objects have SQL storage.
	SQLite bool `json:"sqlite,omitempty"`
	// Previous are the names that the class had before, by its migrations, the latest first.
	Previous []string `json:"previous,omitempty"`
	// Key is the unique key of its namespace where that is not made of its names: the class was renamed or came from
	// another Worker, and keeps its objects; or there was one of its name before, whose objects it must not get.
	Key string `json:"key,omitempty"`
}

// UniqueKey is what the IDs of the class's objects are derived from. Like wrangler: made of the names of Worker and class.
func (c Class) UniqueKey(worker string) string {
	if c.Key != "" {
		return c.Key
	}
	return worker + "-" + c.Name
}

// DurableObject binds a namespace.
type DurableObject struct {
	// Binding is the name in env.
	Binding string `json:"binding"`
	// Class is the class's name.
	Class string `json:"class"`
	// Script is the name of the Worker that has the class; the Worker's own when it has it itself.
	Script string `json:"script"`
	// Key is the unique key of the namespace where that is not made of Script and Class: see Class.Key.
	Key string `json:"key,omitempty"`
}

// UniqueKey is what the namespace's IDs are derived from. Like wrangler: the same key, so that its objects keep their
// IDs.
func (d DurableObject) UniqueKey() string {
	return Class{Name: d.Class, Key: d.Key}.UniqueKey(d.Script)
}

// Service binds an entrypoint of a Worker.
type Service struct {
	// Binding is the name in env.
	Binding string `json:"binding"`
	// Worker is the name of the Worker, which may be the Worker's own.
	Worker string `json:"worker"`
	// Entrypoint is the name of the export; empty is the default one.
	Entrypoint string `json:"entrypoint,omitempty"`
	// Props is what the entrypoint gets as ctx.props, as JSON, or nil.
	Props json.RawMessage `json:"props,omitempty"`
}

// KV binds a KV namespace.
type KV struct {
	// Binding is the name in env.
	Binding string `json:"binding"`
	// ID names the namespace: two Workers of a stack with one ID share it.
	ID string `json:"id"`
}

// Unavailable is a binding of something that tandem does not have.
type Unavailable struct {
	// Binding is the name in env.
	Binding string `json:"binding"`
	// Key is the configuration's key, such as d1_databases.
	Key string `json:"key"`
	// Reason says why it is not there, as a clause without a stop.
	Reason string `json:"reason"`
}

// The most of each list that a manifest may have.
const (
	maxEntries = 4096
	maxName    = 1024
)

// Validate checks what every process relies on.
func (m *Manifest) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if m.Name == "" || len(m.Name) > maxName {
		fault("name has %d bytes, want 1 to %d", len(m.Name), maxName)
	}
	if m.Format != FormatModules && m.Format != FormatServiceWorker {
		fault("format is %q", m.Format)
	}
	seen := map[string]bool{}
	for i, name := range m.bindings() {
		switch {
		case name == "" || len(name) > maxName:
			fault("binding %d: name has %d bytes, want 1 to %d", i, len(name), maxName)
		case seen[name]:
			fault("binding %q is there twice", name)
		}
		seen[name] = true
	}
	for _, n := range []int{len(seen), len(m.Exports), len(m.Classes), len(m.Crons), len(m.Secrets),
		len(m.CompatibilityFlags)} {
		if n > maxEntries {
			fault("a list has %d entries, at most %d", n, maxEntries)
		}
	}
	keys := map[string]bool{}
	for _, c := range m.Classes {
		key := c.UniqueKey(m.Name)
		if keys[key] || len(key) > 2*maxName || strings.HasPrefix(key, "@") { // those are the platform's
			fault("unique key %q of class %q is there twice, or cannot be one", key, c.Name)
		}
		keys[key] = true
	}
	for _, v := range m.Vars {
		if !json.Valid(v.Value) {
			fault("var %q is no JSON", v.Name)
		}
	}
	for _, s := range m.Services {
		if s.Props != nil && !json.Valid(s.Props) {
			fault("props of service %q are no JSON", s.Binding)
		}
	}
	return errors.Join(errs...)
}

// bindings returns all names of env in the manifest's order.
func (m *Manifest) bindings() []string {
	var names []string
	for _, v := range m.Vars {
		names = append(names, v.Name)
	}
	for _, d := range m.DurableObjects {
		names = append(names, d.Binding)
	}
	for _, s := range m.Services {
		names = append(names, s.Binding)
	}
	for _, k := range m.KV {
		names = append(names, k.Binding)
	}
	for _, u := range m.Unavailable {
		names = append(names, u.Binding)
	}
	return names
}

// Class returns the class of this name that the script itself has.
func (m *Manifest) Class(name string) (Class, bool) {
	i := slices.IndexFunc(m.Classes, func(c Class) bool { return c.Name == name })
	if i < 0 {
		return Class{}, false
	}
	return m.Classes[i], true
}
