package env

import (
	"slices"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// exports returns what makes ctx.exports: the script's own object classes as namespaces, and its entrypoints as
// services. It is nil before the compatibility date that has it.
func (o Options) exports() func(*webapi.Realm) (*goja.Object, error) {
	m := o.Manifest
	c := isolate.Compatibility{Date: m.CompatibilityDate, Flags: m.CompatibilityFlags}
	if !c.Since("2025-11-17", "enable_ctx_exports", "disable_ctx_exports") {
		return nil
	}
	return func(r *webapi.Realm) (*goja.Object, error) {
		c, err := ClassesOf(r)
		if err != nil {
			return nil, err
		}
		out := r.Isolate().Runtime().NewObject()
		for _, class := range m.Classes {
			if err := out.Set(class.Name, c.Namespace(o.Namespace(m.Name+"-"+class.Name))); err != nil {
				return nil, err
			}
		}
		return out, o.exportEntrypoints(r, c, out)
	}
}

func (o Options) exportEntrypoints(r *webapi.Realm, c *Classes, out *goja.Object) error {
	m := o.Manifest
	for _, name := range m.Exports {
		isClass := slices.ContainsFunc(m.Classes, func(k bundle.Class) bool { return k.Name == name })
		if isClass || o.Service == nil || name != "default" && !c.isEntrypoint(r.Isolate().Exports().Get(name)) {
			continue
		}
		to := bundle.Service{Worker: m.Name, Entrypoint: name}
		if name == "default" {
			to.Entrypoint = ""
		}
		if s := o.Service(to); s != nil {
			if err := out.Set(name, c.loopback(s, o.withProps(c, to))); err != nil {
				return err
			}
		}
	}
	return nil
}

// isEntrypoint reports whether an export is a class that extends WorkerEntrypoint.
func (c *Classes) isEntrypoint(v goja.Value) bool {
	if v == nil {
		return false
	}
	is, err := c.entrypoint(goja.Undefined(), v)
	return err == nil && is.ToBoolean()
}
