package project

import (
	"fmt"
	"slices"
)

// Together checks projects that run in one stack against each other, and returns errors and warnings. Two Workers of
// one name are an error. A binding of a Worker that is not among them is a warning, since that Worker may come later,
// as is one of an object class that its Worker does not declare. Bindings of classes that have other unique keys than by
// their names get those.
func Together(projects []*Project) []Diagnostic {
	var list []Diagnostic
	say := func(p *Project, severity Severity, format string, args ...any) {
		list = append(list, Diagnostic{Severity: severity, File: shown(p.File), Message: fmt.Sprintf(format, args...)})
	}
	byName := map[string]*Project{}
	var names []string
	for _, p := range projects {
		if other := byName[p.Manifest.Name]; other != nil {
			say(p, SeverityError, "the Worker is named %q, as is that of %s", p.Manifest.Name, shown(other.File))
			continue
		}
		byName[p.Manifest.Name] = p
		names = append(names, p.Manifest.Name)
	}
	slices.Sort(names)
	for _, p := range projects {
		for _, s := range p.Manifest.Services {
			if byName[s.Worker] == nil {
				say(p, SeverityWarning, "the service %s is the Worker %q, which is not here%s", s.Binding, s.Worker,
					suggestion(s.Worker, names))
			}
		}
		for i, o := range p.Manifest.DurableObjects {
			other := byName[o.Script]
			if other == nil {
				say(p, SeverityWarning, "the objects of %s are of the Worker %q, which is not here%s", o.Binding, o.Script,
					suggestion(o.Script, names))
			} else if class, ok := other.Manifest.Class(o.Class); ok {
				p.Manifest.DurableObjects[i].Key = class.Key
			} else {
				say(p, SeverityWarning, "the objects of %s are of the class %q, which the Worker %q does not declare", o.Binding,
					o.Class, o.Script)
			}
		}
	}
	return list
}
