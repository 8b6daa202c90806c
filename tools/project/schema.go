package project

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// schema is Keys as a tree.
type schema struct {
	key      Key
	children map[string]*schema // by name; "*" is any other
	item     *schema
}

// newSchema makes the tree. A path whose parents have no row of their own is a fault of the table.
func newSchema() *schema {
	root := &schema{key: Key{Type: Object}, children: map[string]*schema{}}
	for _, k := range Keys() {
		at := root
		for _, part := range splitPath(k.Path) {
			at = at.child(part)
		}
		at.key = k
	}
	// An environment has the top level's keys but those of all environments.
	env := root.children["env"].children["*"]
	env.children = map[string]*schema{}
	for name, c := range root.children {
		if c.key.Scope != TopLevel {
			env.children[name] = c
		}
	}
	return root
}

// splitPath cuts a path into names and "[]".
func splitPath(path string) []string {
	var parts []string
	for name := range strings.SplitSeq(path, ".") {
		before, item := strings.CutSuffix(name, "[]")
		if parts = append(parts, before); item {
			parts = append(parts, "[]")
		}
	}
	return parts
}

func (s *schema) child(part string) *schema {
	if part == "[]" {
		if s.item == nil {
			s.item = &schema{}
		}
		return s.item
	}
	if s.children == nil {
		s.children = map[string]*schema{}
	}
	if s.children[part] == nil {
		s.children[part] = &schema{}
	}
	return s.children[part]
}

// checker compares a document with the schema.
type checker struct {
	*document
	list []Diagnostic
	// keys are the paths of the keys that are not supported and were there.
	keys []string
}

// report adds a Diagnostic of a key.
func (c *checker) report(severity Severity, key string, start, end int, format string, args ...any) {
	g := c.fault(start, end, format, args...)
	g.Severity, g.Key = severity, key
	c.list = append(c.list, *g)
}

// fail adds an error at a value.
func (c *checker) fail(key string, v *value, format string, args ...any) {
	c.report(SeverityError, key, v.start, v.end, format, args...)
}

// warn adds a warning at a value.
func (c *checker) warn(key string, v *value, format string, args ...any) {
	c.report(SeverityWarning, key, v.start, v.end, format, args...)
}

// value checks a value and what is below. path is as a message says it: kv_namespaces[0].id.
func (c *checker) value(s *schema, path string, v *value) {
	if !c.kind(s, path, v) {
		return
	}
	switch v.kind {
	case kindObject:
		if s.children != nil {
			c.object(s, path, v)
		}
	case kindArray:
		for i, item := range v.items {
			if s.item != nil {
				c.value(s.item, fmt.Sprintf("%s[%d]", path, i), item)
			}
		}
	case kindString:
		if len(s.key.Values) > 0 && !slices.Contains(s.key.Values, v.text) {
			c.fail(s.key.Path, v, "%q is %q; it is one of %s%s", path, v.text, quoted(s.key.Values), suggestion(v.text,
				s.key.Values))
		}
	default:
	}
}

// kind checks what a value is.
func (c *checker) kind(s *schema, path string, v *value) bool {
	if v.kind == kindDate {
		c.fail(s.key.Path, v, "%q is a TOML date; write it as a string", path)
		return false
	}
	if v.kind == kindNull || s.key.Type&typeOf(v.kind) != 0 {
		if v.kind == kindNull && s.key.Type != Any {
			c.fail(s.key.Path, v, "%q is null; it is %s", path, s.key.Type)
		}
		return v.kind != kindNull
	}
	c.fail(s.key.Path, v, "%q is %s; it is %s", path, v.kind, s.key.Type)
	return false
}

func typeOf(k kind) Type {
	switch k {
	case kindString:
		return String
	case kindBool:
		return Bool
	case kindNumber:
		return Number
	case kindObject:
		return Object
	case kindArray:
		return Array
	default:
		return 0
	}
}

// String returns the kinds as a message says them: "a string or an array".
func (t Type) String() string {
	if t == Any {
		return "any value"
	}
	var list []string
	for _, k := range []kind{kindString, kindBool, kindNumber, kindObject, kindArray} {
		if t&typeOf(k) != 0 {
			list = append(list, k.String())
		}
	}
	return strings.Join(list, " or ")
}

// object checks the keys of an object.
func (c *checker) object(s *schema, path string, v *value) {
	seen := map[string]bool{}
	for i := range v.members {
		m := &v.members[i]
		if seen[m.name] {
			c.report(SeverityWarning, s.key.Path, m.start, m.end, "%q is there twice; the last one counts", join(path, m.name))
			continue
		}
		seen[m.name] = true
		last := v.member(m.name)
		child := s.children[m.name]
		if child == nil {
			child = s.children["*"]
		}
		if child == nil {
			c.report(SeverityError, s.key.Path, last.start, last.end, "unknown key %q%s", join(path, m.name),
				suggestion(m.name, s.names()))
			continue
		}
		c.member(child, join(path, m.name), last)
	}
	for name, child := range s.children {
		if child.key.Required && !seen[name] {
			c.fail(child.key.Path, v, "%q has no %q", path, name)
		}
	}
}

// member checks a key by its status.
func (c *checker) member(s *schema, path string, m *member) {
	k := s.key
	if k.Status != Supported {
		c.keys = append(c.keys, k.Path)
	}
	switch k.Status {
	case Supported:
		c.value(s, path, m.value)
	case Ignored:
		if k.Path == "$schema" { // every file that create-cloudflare makes has it
			return
		}
		c.report(SeverityNote, k.Path, m.start, m.end, "%q is ignored: %s", path, k.Note)
	case Unavailable:
		if c.kind(s, path, m.value) && !empty(m.value) {
			c.report(SeverityWarning, k.Path, m.start, m.end, "%q is not available: %s", path, k.Note)
		}
	case Refused:
		c.report(SeverityError, k.Path, m.start, m.end, "%q is not supported: %s", path, k.Note)
	}
}

// empty says whether an object or an array has nothing in it.
func empty(v *value) bool {
	return (v.kind == kindObject || v.kind == kindArray) && len(v.members) == 0 && len(v.items) == 0
}

// names returns the names that a key of the object may have.
func (s *schema) names() []string {
	var list []string
	for name, c := range s.children {
		if name != "*" && c.key.Status != Refused {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func quoted(list []string) string {
	q := make([]string, len(list))
	for i, s := range list {
		q[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(q, ", ")
}

// suggestion returns a question for the candidate nearest to name, or nothing when none is near.
func suggestion(name string, candidates []string) string {
	best, near := "", max(2, len(name)/3)+1
	if len(name) < 4 {
		near = 2
	}
	for _, c := range candidates {
		if d := levenshtein.Distance(strings.ToLower(name), strings.ToLower(c), nil); d < near {
			best, near = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
