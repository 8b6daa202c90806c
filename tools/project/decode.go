package project

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tandem-do/tandem/proto/cron"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/compatibility"
)

// decoder makes a Project of a document that was checked. Where a value has the wrong kind the checker has said so,
// and the decoder goes on without it.
type decoder struct {
	*checker
	o *Options
	p *Project
	v *value // the Worker's object
	// used says for what each name of env is there.
	used map[string]string
}

func (d *decoder) all() {
	m := &d.p.Manifest
	m.Environment = d.o.Environment
	d.name(m)
	d.compatibility(m)
	d.vars(m)
	d.versionMetadata()
	d.classes(m)
	d.durableObjects(m)
	d.services(m)
	d.kv(m)
	d.unavailable(m)
	d.crons(m)
	d.secrets(m)
	d.main()
	d.build()
	if port := d.v.get("dev").get("port"); port != nil && port.kind == kindNumber {
		if d.p.Port = int(port.number); float64(d.p.Port) != port.number || d.p.Port < 0 || d.p.Port > 65535 {
			d.fail("dev.port", port, "%q is %v; it is a port", "dev.port", port.number)
		}
	}
}

// str returns a string member, or "".
func str(v *value, name string) string {
	if m := v.get(name); m != nil && m.kind == kindString {
		return m.text
	}
	return ""
}

// truth returns a boolean member, or def.
func truth(v *value, name string, def bool) bool {
	if m := v.get(name); m != nil && m.kind == kindBool {
		return m.truth
	}
	return def
}

// list returns the items of an array member.
func list(v *value, name string) []*value {
	if m := v.get(name); m != nil && m.kind == kindArray {
		return m.items
	}
	return nil
}

// objects returns those items that are objects.
func objects(v *value, name string) []*value {
	return slices.DeleteFunc(slices.Clone(list(v, name)), func(i *value) bool { return i.kind != kindObject })
}

// strs returns those items that are strings.
func strs(v *value, name string) []*value {
	return slices.DeleteFunc(slices.Clone(list(v, name)), func(i *value) bool { return i.kind != kindString })
}

// namePattern is of a Worker's name. Like wrangler: isValidName.
var namePattern = regexp.MustCompile(`^[a-z0-9_][a-z0-9-_]*$`)

func (d *decoder) name(m *bundle.Manifest) {
	if m.Name = workerName(d.root, d.o.Environment); m.Name == "" {
		m.Name = strings.Trim(regexp.MustCompile(`[^a-z0-9_]+`).ReplaceAllString(strings.ToLower(filepath.Base(d.p.Dir)),
			"-"), "-")
		if m.Name == "" {
			m.Name = "worker"
		}
		return
	}
	if v := d.v.get("name"); !namePattern.MatchString(m.Name) && v != nil {
		d.fail("name", v,
			"%q is %q; it has lower-case letters, digits, hyphens and underscores, and does not begin with a hyphen", "name",
			m.Name)
	} else if len(m.Name) > 255 && v != nil {
		d.fail("name", v, "%q has %d characters, at most 255", "name", len(m.Name))
	}
}

func (d *decoder) compatibility(m *bundle.Manifest) {
	m.CompatibilityDate = compatibility.NewestDate
	switch v := d.v.get("compatibility_date"); {
	case v == nil:
		d.warn("compatibility_date", &value{}, "there is no %q; %s is used", "compatibility_date", compatibility.NewestDate)
	case v.kind != kindString:
	default:
		m.CompatibilityDate = v.text
		if t, err := time.Parse(time.DateOnly, v.text); err != nil || t.Format(time.DateOnly) != v.text {
			d.fail("compatibility_date", v, "%q is %q; it is a date as YYYY-MM-DD", "compatibility_date", v.text)
		} else if v.text > compatibility.NewestDate {
			d.warn("compatibility_date", v, "%s is newer than %s, the newest date that this version knows", v.text,
				compatibility.NewestDate)
		}
	}
	for _, v := range strs(d.v, "compatibility_flags") {
		d.flag(m, v)
	}
}

func (d *decoder) vars(m *bundle.Manifest) {
	v := d.v.get("vars")
	if v == nil || v.kind != kindObject {
		return
	}
	for _, one := range v.members {
		if v.member(one.name).value != one.value || one.value.kind == kindDate {
			continue
		}
		d.use(one.name, "vars", one.start, one.end)
		m.Vars = append(m.Vars, bundle.Var{Name: one.name, Value: one.value.json()})
	}
}

func (d *decoder) versionMetadata() {
	if v := d.v.get("version_metadata"); v != nil && v.kind == kindObject {
		if name := str(v, "binding"); d.binding("version_metadata", v, "binding", name) {
			d.p.Build.VersionMetadata = name
		}
	}
}

// use takes a name of env.
func (d *decoder) use(name, what string, start, end int) {
	if name == "" {
		return
	}
	if by := d.used[name]; by != "" {
		d.report(SeverityError, what, start, end, "the name %q is taken: it is in %s already", name, by)
		return
	}
	d.used[name] = what
}

// json returns a value as JSON.
func (v *value) json() json.RawMessage {
	text, err := json.Marshal(v.plain())
	if err != nil { // infinity and NaN, which only TOML has
		return json.RawMessage("null")
	}
	return text
}

func (v *value) plain() any {
	switch v.kind {
	case kindString, kindDate:
		return v.text
	case kindBool:
		return v.truth
	case kindNumber:
		return v.number
	case kindArray:
		items := make([]any, len(v.items))
		for i, item := range v.items {
			items[i] = item.plain()
		}
		return items
	case kindObject:
		members := make(map[string]any, len(v.members))
		for _, m := range v.members {
			members[m.name] = m.value.plain()
		}
		return members
	default:
		return nil
	}
}

// withEnvironment is the name of a Worker of an environment. Like wrangler: a service environment is a Worker of its
// own.
func withEnvironment(worker, environment string) string {
	if environment == "" {
		return worker
	}
	return worker + "-" + environment
}

func (d *decoder) services(m *bundle.Manifest) {
	for _, v := range objects(d.v, "services") {
		s := bundle.Service{
			Binding: str(v, "binding"), Entrypoint: str(v, "entrypoint"),
			Worker: withEnvironment(str(v, "service"), str(v, "environment")),
		}
		if props := v.get("props"); props != nil && props.kind == kindObject {
			s.Props = props.json()
		}
		if d.binding("services", v, "binding", s.Binding) && s.Worker != "" {
			m.Services = append(m.Services, s)
		}
	}
}

// binding takes the name of a binding that stands in an object.
func (d *decoder) binding(key string, in *value, member, name string) bool {
	at := in.get(member)
	if at == nil || at.kind != kindString {
		return false // the checker has said so
	}
	if name == "" {
		d.fail(key, at, "%q is empty", member)
		return false
	}
	d.use(name, key, at.start, at.end)
	return true
}

func (d *decoder) kv(m *bundle.Manifest) {
	for _, v := range objects(d.v, "kv_namespaces") {
		k := bundle.KV{Binding: str(v, "binding"), ID: str(v, "id")}
		if id := v.get("id"); id != nil && id.kind == kindString && id.text == "" {
			d.fail("kv_namespaces[].id", id, "%q is empty", "id")
		}
		if preview := str(v, "preview_id"); preview != "" && !d.o.Production {
			k.ID = preview
		}
		if k.ID == "" {
			k.ID = k.Binding
		}
		if d.binding("kv_namespaces", v, "binding", k.Binding) {
			m.KV = append(m.KV, k)
		}
	}
}

// unavailable takes the names of bindings that can't be used.
func (d *decoder) unavailable(m *bundle.Manifest) {
	for _, k := range Keys() {
		v := d.v.get(k.Path)
		if k.Status != Unavailable || k.Binding == "" || v == nil {
			continue
		}
		for _, at := range follow([]*value{v}, splitPath(k.Binding)) {
			if at.kind == kindString && at.text != "" {
				d.use(at.text, k.Path, at.start, at.end)
				m.Unavailable = append(m.Unavailable, bundle.Unavailable{Binding: at.text, Key: k.Path, Reason: k.Note})
			}
		}
	}
}

// follow returns all values at a path below some.
func follow(at []*value, path []string) []*value {
	for _, part := range path {
		var next []*value
		for _, v := range at {
			switch {
			case part == "":
				next = append(next, v)
			case part == "[]":
				next = append(next, v.items...)
			case v.get(part) != nil:
				next = append(next, v.get(part))
			}
		}
		at = next
	}
	return at
}

func (d *decoder) crons(m *bundle.Manifest) {
	crons := strs(d.v.get("triggers"), "crons")
	if len(crons) > cron.MaxSchedules {
		d.fail("triggers.crons", crons[cron.MaxSchedules], "there are %d schedules, at most %d", len(crons), cron.MaxSchedules)
		return
	}
	for i, v := range crons {
		if _, err := cron.Parse(v.text); err != nil {
			d.fail("triggers.crons[]", v, "\"triggers.crons[%d]\" is no schedule: %v", i, err)
			continue
		}
		if !slices.Contains(m.Crons, v.text) {
			m.Crons = append(m.Crons, v.text)
		}
	}
}

// main takes the script's file. Whether it is there is known only after the build command ran.
func (d *decoder) main() {
	main := d.v.get("main")
	if main == nil || main.kind != kindString {
		switch {
		case main != nil:
		case d.v.get("assets") != nil:
			d.fail("main", d.v.get("assets"), "there is no %q: a project of static assets alone has nothing to run", "main")
		default:
			d.report(SeverityError, "main", d.v.start, d.v.start+1,
				"there is no %q: a project without a script has nothing to run", "main")
		}
		return
	}
	switch {
	case main.text == "":
		d.fail("main", main, "%q is empty", "main")
	case filepath.Ext(main.text) == ".py":
		d.fail("main", main, "%q is %q: Python Workers are not supported", "main", main.text)
	}
	d.p.Build.Entry = d.path(main.text)
	d.p.main = *d.fault(main.start, main.end, "%q is %q, and there is no such file", "main", main.text)
	d.p.main.Key = "main"
}

// path makes a path of the configuration absolute.
func (d *decoder) path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(d.p.Dir, filepath.FromSlash(name))
}
