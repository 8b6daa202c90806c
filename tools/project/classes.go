package project

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/tandem-do/tandem/runtime/bundle"
)

// classNames is what migrations make of the classes of a script, in the order of their making.
type classNames []bundle.Class

func (n classNames) index(name string) int {
	return slices.IndexFunc(n, func(c bundle.Class) bool { return c.Name == name })
}

// classes replays the migrations, or takes the exports. Like wrangler: class-names-sqlite.ts; the order within one
// migration is deleted, renamed, new, new with SQLite.
func (d *decoder) classes(m *bundle.Manifest) {
	migrations, exports := objects(d.v, "migrations"), d.v.get("exports")
	names := classNames{}
	tags, made := map[string]bool{}, map[string]int{}
	for i, v := range migrations {
		if tag := str(v, "tag"); tag != "" && tags[tag] {
			d.warn("migrations[].tag", v.get("tag"), "\"migrations[%d].tag\" is %q, as in one before", i, tag)
		} else {
			tags[tag] = true
		}
		names = d.migrate(names, fmt.Sprintf("migrations[%d]", i), v, made)
	}
	if exports != nil && exports.kind == kindObject {
		names = d.exports(names, exports, len(migrations) > 0)
	}
	m.Classes = names
}

// migrate applies one migration. made counts the namespaces that each name has begun: that of a class whose name there was
// before is a new one, as it is at Cloudflare.
func (d *decoder) migrate(names classNames, path string, v *value, made map[string]int) classNames {
	for i, c := range strs(v, "deleted_classes") {
		at := names.index(c.text)
		if at < 0 {
			d.fail("migrations[].deleted_classes[]", c, "\"%s.deleted_classes[%d]\": there is no class %q to delete", path, i,
				c.text)
			continue
		}
		names = slices.Delete(names, at, at+1)
	}
	for i, r := range objects(v, "renamed_classes") {
		from, to := str(r, "from"), str(r, "to")
		at := names.index(from)
		switch {
		case from == "" || to == "":
		case at < 0:
			d.fail("migrations[].renamed_classes[]", r, "\"%s.renamed_classes[%d]\": there is no class %q to rename", path, i,
				from)
		case names.index(to) >= 0:
			d.fail("migrations[].renamed_classes[]", r, "\"%s.renamed_classes[%d]\": there is a class %q already", path, i, to)
		default:
			names[at].Key = names[at].UniqueKey(d.p.Manifest.Name)
			names[at].Name, names[at].Previous = to, append([]string{from}, names[at].Previous...)
		}
	}
	for i, t := range objects(v, "transferred_classes") {
		to, known := str(t, "to"), len(names)
		if to == "" {
			continue
		}
		names = d.newClass(names, fmt.Sprintf("%s.transferred_classes[%d]", path, i), t.get("to"), false)
		if worker, from := str(t, "from_script"), str(t, "from"); len(names) > known && worker != "" && from != "" {
			names[known].Key = bundle.Class{Name: from}.UniqueKey(worker)
		}
	}
	for _, kind := range []string{"new_classes", "new_sqlite_classes"} {
		for i, c := range strs(v, kind) {
			known := len(names)
			names = d.newClass(names, fmt.Sprintf("%s.%s[%d]", path, kind, i), c, kind == "new_sqlite_classes")
			if len(names) == known {
				continue
			}
			if made[c.text]++; made[c.text] > 1 {
				// No other class can be named so.
				names[known].Key = fmt.Sprintf("%s.%d", names[known].UniqueKey(d.p.Manifest.Name), made[c.text])
			}
		}
	}
	return names
}

func (d *decoder) newClass(names classNames, path string, at *value, sqlite bool) classNames {
	if names.index(at.text) >= 0 {
		d.fail("migrations[].new_classes[]", at, "%q: there is a class %q already", path, at.text)
		return names
	}
	d.identifier("migrations[].new_classes[]", at)
	return append(names, bundle.Class{Name: at.text, SQLite: sqlite})
}

// identifierPattern is of a class's name. Like wrangler: JS_IDENTIFIER_RE.
var identifierPattern = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

func (d *decoder) identifier(key string, v *value) {
	if !identifierPattern.MatchString(v.text) {
		d.fail(key, v, "%q is no name of a class", v.text)
	}
}

// exports adds the classes that stand there. A tombstone has none.
func (d *decoder) exports(names classNames, v *value, migrations bool) classNames {
	previous := map[string][]string{}
	for _, m := range v.members {
		if e := m.value; e.kind == kindObject && str(e, "type") == "durable-object" && str(e, "state") == "renamed" {
			previous[str(e, "renamed_to")] = append(previous[str(e, "renamed_to")], m.name)
		}
	}
	for _, m := range v.members {
		e := m.value
		if e.kind != kindObject || str(e, "type") != "durable-object" {
			continue
		}
		if migrations {
			d.report(SeverityError, "exports", m.start, m.end, "%q excludes %q: declare the classes in one of them",
				"exports."+m.name, "migrations")
			return names
		}
		d.exportedClass(v, m)
		if state := str(e, "state"); state != "" && state != "created" && state != "expecting-transfer" {
			continue
		}
		if !identifierPattern.MatchString(m.name) {
			d.report(SeverityError, "exports.*", m.start, m.end, "%q is no name of a class", m.name)
		}
		class := bundle.Class{Name: m.name, SQLite: str(e, "storage") == "sqlite", Previous: previous[m.name]}
		if len(class.Previous) > 0 {
			class.Key = bundle.Class{Name: class.Previous[0]}.UniqueKey(d.p.Manifest.Name)
		}
		names = append(names, class)
	}
	return names
}

// exportedClass checks that a class has the keys of its state and no others. Like wrangler:
// validateDurableObjectExport.
func (d *decoder) exportedClass(all *value, m member) {
	state := str(m.value, "state")
	if state == "" {
		state = "created"
	}
	needs := map[string][]string{
		"created": {"storage"}, "deleted": {}, "renamed": {"renamed_to"}, "transferred": {"transferred_to"},
		"expecting-transfer": {"storage", "transfer_from"},
	}[state]
	for _, name := range needs {
		if str(m.value, name) == "" {
			d.report(SeverityError, "exports.*."+name, m.start, m.end, "%q has no %q, which the state %q needs",
				"exports."+m.name, name, state)
		}
	}
	for _, k := range m.value.members {
		switch k.name {
		case "storage", "renamed_to", "transferred_to", "transfer_from":
			if !slices.Contains(needs, k.name) {
				d.report(SeverityError, "exports.*."+k.name, k.start, k.end, "%q does not go with the state %q",
					"exports."+m.name+"."+k.name, state)
			}
		}
	}
	if to := str(m.value, "renamed_to"); state == "renamed" && to != "" {
		target := all.get(to)
		if live := str(target, "state"); target == nil || target == m.value || live != "" && live != "created" {
			d.fail("exports.*.renamed_to", m.value.get("renamed_to"),
				"%q is %q, which is no class that \"exports\" has in the state \"created\"",
				"exports."+m.name+".renamed_to", to)
		}
	}
}

func (d *decoder) durableObjects(m *bundle.Manifest) {
	for _, v := range objects(d.v.get("durable_objects"), "bindings") {
		b := bundle.DurableObject{Binding: str(v, "name"), Class: str(v, "class_name"), Script: str(v, "script_name")}
		if env := v.get("environment"); env != nil && b.Script == "" {
			d.fail("durable_objects.bindings[].environment", env, "%q needs a %q", "environment", "script_name")
		}
		b.Script = withEnvironment(b.Script, str(v, "environment"))
		if b.Script == "" {
			b.Script = m.Name
		}
		if !d.binding("durable_objects", v, "name", b.Binding) || b.Class == "" {
			continue
		}
		class, known := m.Class(b.Class)
		if b.Script == m.Name {
			b.Key = class.Key
		}
		if !known && b.Script == m.Name {
			d.identifier("durable_objects.bindings[].class_name", v.get("class_name"))
			d.warn("durable_objects.bindings[].class_name", v.get("class_name"),
				"the class %q is in no migration and not in \"exports\": its objects have no SQL storage", b.Class)
			m.Classes = append(m.Classes, bundle.Class{Name: b.Class})
		}
		m.DurableObjects = append(m.DurableObjects, b)
	}
}
