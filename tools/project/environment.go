package project

import (
	"fmt"
	"slices"
	"strings"
)

// choose returns the object that a Worker of an environment has: the top level's keys that all environments share or
// that the environment inherits, and its own. With no environment it is the top level itself.
//
// Like wrangler: workers-utils/src/config/validation.ts, inheritable and notInheritable; an environment that the file
// does not have is an error if it has others, and else a warning, and the top level with that name.
func (c *checker) choose(s *schema, environment string) *value {
	// Environments that were not chosen may have faults.
	top := *c.root
	top.members = slices.DeleteFunc(slices.Clone(top.members), func(m member) bool { return m.name == "env" })
	envs := c.root.get("env")
	if envs != nil && envs.kind != kindObject {
		c.fail("env", envs, "%q is %s; it is an object", "env", envs.kind)
		return &top
	}
	if environment == "" {
		return &top
	}
	own := envs.get(environment)
	if own == nil {
		c.unknownEnvironment(envs, environment)
		return &top
	}
	if own.kind != kindObject {
		c.fail("env.*", own, "%q is %s; it is an object", "env."+environment, own.kind)
		return &top
	}
	chosen := &value{kind: kindObject, start: own.start, end: own.end}
	for _, m := range own.members {
		if child := s.children[m.name]; child != nil && child.key.Scope == TopLevel {
			c.report(SeverityError, m.name, m.start, m.end, "%q stands at the top level only", "env."+environment+"."+m.name)
			continue
		}
		chosen.members = append(chosen.members, m)
	}
	for _, m := range top.members {
		child := s.children[m.name]
		switch {
		case own.member(m.name) != nil:
		case child != nil && child.key.Scope == Own:
			c.report(SeverityWarning, m.name, m.start, m.end,
				"%q is not inherited: environment %q has none unless it says so itself",
				m.name, environment)
		default:
			chosen.members = append(chosen.members, m)
		}
	}
	return chosen
}

func (c *checker) unknownEnvironment(envs *value, environment string) {
	if envs == nil || len(envs.members) == 0 {
		c.warn("env", &value{}, "there is no environment %q; the top level is used", environment)
		return
	}
	var names []string
	for _, m := range envs.members {
		names = append(names, m.name)
	}
	slices.Sort(names)
	m := c.root.member("env")
	c.report(SeverityError, "env", m.start, m.end, "there is no environment %q; there are %s%s", environment,
		strings.Join(names, ", "),
		suggestion(environment, names))
}

// workerName is the name of the Worker: the environment's own, or the top level's with the environment's after a
// hyphen. Like wrangler: appendEnvName.
func workerName(top *value, environment string) string {
	text := func(v *value) string {
		if v = v.get("name"); v != nil && v.kind == kindString {
			return v.text
		}
		return ""
	}
	if environment == "" {
		return text(top)
	}
	if name := text(top.get("env").get(environment)); name != "" {
		return name
	}
	if name := text(top); name != "" {
		return fmt.Sprintf("%s-%s", name, environment)
	}
	return ""
}
