package project

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/tandem-do/tandem/runtime/bundle"
)

// secrets reads the values of development. Like wrangler: dev/dev-vars.ts. A .dev.vars.<environment> file, or else
// .dev.vars, excludes the .env files, of which later ones come first. When the configuration says which secrets there
// are, only those and what overrides a var are taken.
func (d *decoder) secrets(m *bundle.Manifest) {
	required := strs(d.v.get("secrets"), "required")
	for _, v := range required {
		if !hasVar(m, v.text) {
			d.use(v.text, "secrets.required", v.start, v.end)
		} else {
			d.fail("secrets.required[]", v, "%q is a var already", v.text)
		}
		if v.text != "" && !slices.Contains(m.Secrets, v.text) {
			m.Secrets = append(m.Secrets, v.text)
		}
	}
	if d.o.Production {
		return
	}
	declared := d.v.get("secrets") != nil
	found := d.readSecrets(declared)
	d.p.Secrets = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		isVar := hasVar(m, name)
		switch {
		case declared && !isVar && !slices.Contains(m.Secrets, name):
			continue
		case d.used[name] != "" && !isVar && !slices.Contains(m.Secrets, name):
			d.warn("", &value{}, "the secret %q is not used: %s has a binding of that name", name, d.used[name])
			continue
		}
		if isVar {
			m.Vars = slices.DeleteFunc(m.Vars, func(v bundle.Var) bool { return v.Name == name })
		}
		if !slices.Contains(m.Secrets, name) {
			m.Secrets = append(m.Secrets, name)
		}
		d.p.Secrets[name] = found[name]
	}
	for _, v := range required {
		if _, ok := d.p.Secrets[v.text]; !ok {
			d.warn("secrets.required[]", v, "the secret %q has no value: put it in .dev.vars", v.text)
		}
	}
}

func hasVar(m *bundle.Manifest, name string) bool {
	return slices.ContainsFunc(m.Vars, func(v bundle.Var) bool { return v.Name == name })
}

// readSecrets reads the files. It notes every file that would count.
func (d *decoder) readSecrets(declared bool) map[string]string {
	env := d.o.Environment
	names := []string{".dev.vars"}
	if env != "" {
		names = []string{".dev.vars." + env, ".dev.vars"}
	}
	for _, name := range names {
		if v, ok := d.readVars(name); ok {
			return v.values
		}
	}
	if d.o.Process["CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV"] == "false" {
		return nil
	}
	names = []string{".env", ".env.local"}
	if env != "" {
		names = append(names, ".env."+env, ".env."+env+".local")
	}
	merged := &vars{values: map[string]string{}}
	for _, name := range names {
		v, _ := d.readVars(name)
		for _, name := range v.names {
			merged.set(name, v.values[name])
		}
	}
	outer := map[string]string{}
	if declared || d.o.Process["CLOUDFLARE_INCLUDE_PROCESS_ENV"] == "true" {
		outer = d.o.Process
	}
	return expand(merged, outer)
}

// readVars reads one file of the project's directory. ok is false when it is not there.
func (d *decoder) readVars(name string) (v *vars, ok bool) {
	path := filepath.Join(d.p.Dir, name)
	d.p.Files = append(d.p.Files, path)
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &vars{}, false
	}
	if err != nil {
		d.list = append(d.list, Diagnostic{Severity: SeverityError, File: shown(path), Message: err.Error()})
		return &vars{}, true
	}
	return parseVars(string(data)), true
}
