package project

import (
	"github.com/tandem-do/tandem/runtime/bundle/build"
)

func (d *decoder) build() {
	b := &d.p.Build
	b.Dir = d.p.Dir
	b.Mode = build.Development
	if d.o.Production {
		b.Mode = build.Production
	}
	b.NodeEnv = d.o.Process["NODE_ENV"]
	b.CompatibilityDate, b.CompatibilityFlags = d.p.Manifest.CompatibilityDate, d.p.Manifest.CompatibilityFlags
	b.Define, b.Alias = d.texts("define"), d.texts("alias")
	b.JSXFactory, b.JSXFragment = str(d.v, "jsx_factory"), str(d.v, "jsx_fragment")
	b.KeepNames = truth(d.v, "keep_names", false)
	b.FindAdditionalModules = truth(d.v, "find_additional_modules", truth(d.v, "no_bundle", false))
	if t := str(d.v, "tsconfig"); t != "" {
		b.TSConfig = d.path(t)
	}
	if dir := str(d.v, "base_dir"); dir != "" {
		b.BaseDir = d.path(dir)
	}
	for _, v := range objects(d.v, "rules") {
		r := build.Rule{Type: build.ModuleType(str(v, "type"))}
		for _, g := range strs(v, "globs") {
			r.Globs = append(r.Globs, g.text)
		}
		if f := v.get("fallthrough"); f != nil && f.kind == kindBool {
			r.Fallthrough = &f.truth
		}
		b.Rules = append(b.Rules, r)
	}
	d.command()
}

// command takes the custom build.
func (d *decoder) command() {
	v := d.v.get("build")
	text := str(v, "command")
	if text == "" {
		return
	}
	c := &build.Command{Shell: text, Dir: d.p.Dir}
	if cwd := str(v, "cwd"); cwd != "" {
		c.Dir = d.path(cwd)
	}
	watch := strs(v, "watch_dir")
	if one := v.get("watch_dir"); one != nil && one.kind == kindString {
		watch = []*value{one}
	}
	for _, w := range watch {
		c.Watch = append(c.Watch, d.path(w.text))
	}
	if len(c.Watch) == 0 {
		c.Watch = []string{d.path("src")}
	}
	d.p.Command = c
}

// texts returns an object of strings.
func (d *decoder) texts(name string) map[string]string {
	v := d.v.get(name)
	if v == nil || v.kind != kindObject || len(v.members) == 0 {
		return nil
	}
	m := map[string]string{}
	for _, one := range v.members {
		if one.value.kind == kindString {
			m[one.name] = one.value.text
		}
	}
	return m
}
