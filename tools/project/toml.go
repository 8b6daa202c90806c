package project

import (
	"errors"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML reads TOML. The library decodes the file first, so that everything it refuses is refused; the tree is
// then made of its expressions, which have places.
func parseTOML(d *document) *Diagnostic {
	var whole map[string]any
	if err := toml.Unmarshal(d.data, &whole); err != nil {
		if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
			g := d.atLine(decode.Position())
			g.Message = strings.TrimPrefix(decode.Error(), "toml: ")
			return g
		}
		return d.fault(0, 0, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	t := tomlTree{parser: &unstable.Parser{}}
	t.parser.Reset(d.data)
	root := &value{kind: kindObject, end: len(d.data)}
	table := root
	for t.parser.NextExpression() {
		e := t.parser.Expression()
		switch e.Kind {
		case unstable.KeyValue:
			t.assign(table, e)
		case unstable.Table:
			table = t.table(root, e)
		case unstable.ArrayTable:
			table = t.item(root, e)
		default: // a comment
		}
	}
	if err := t.parser.Error(); err != nil {
		return d.fault(0, 0, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	d.root = root
	return nil
}

// tomlTree makes values of the library's nodes.
type tomlTree struct{ parser *unstable.Parser }

// keyPart is one name of a dotted key.
type keyPart struct {
	name       string
	start, end int
}

func (t tomlTree) key(e *unstable.Node) []keyPart {
	var parts []keyPart
	for k := e.Key(); k.Next(); {
		n := k.Node()
		parts = append(parts, keyPart{string(n.Data), int(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)})
	}
	return parts
}

// descend returns the object of a name in an object, which it makes when there is none. Of an array it is the last
// item.
func descend(in *value, k keyPart) *value {
	if at := in.get(k.name); at != nil {
		if at.kind == kindArray && len(at.items) > 0 {
			return at.items[len(at.items)-1]
		}
		return at
	}
	at := &value{kind: kindObject, start: k.start, end: k.end}
	in.members = append(in.members, member{name: k.name, start: k.start, end: k.end, value: at})
	return at
}

func (t tomlTree) table(root *value, e *unstable.Node) *value {
	at := root
	for _, k := range t.key(e) {
		at = descend(at, k)
	}
	return at
}

// item appends an item to an array of tables.
func (t tomlTree) item(root *value, e *unstable.Node) *value {
	at, parts := root, t.key(e)
	for _, k := range parts[:len(parts)-1] {
		at = descend(at, k)
	}
	last := parts[len(parts)-1]
	list := at.get(last.name)
	if list == nil {
		list = &value{kind: kindArray, start: last.start, end: last.end}
		at.members = append(at.members, member{name: last.name, start: last.start, end: last.end, value: list})
	}
	one := &value{kind: kindObject, start: last.start, end: last.end}
	list.items = append(list.items, one)
	return one
}

// assign sets a key of a table.
func (t tomlTree) assign(table *value, e *unstable.Node) {
	parts := t.key(e)
	for _, k := range parts[:len(parts)-1] {
		table = descend(table, k)
	}
	last := parts[len(parts)-1]
	v := t.value(e.Value(), last)
	table.members = append(table.members, member{name: last.name, start: last.start, end: last.end, value: v})
}

// value makes a value. One that the library gives no place for has that of its key.
func (t tomlTree) value(n *unstable.Node, key keyPart) *value {
	v := &value{start: int(n.Raw.Offset), end: int(n.Raw.Offset + n.Raw.Length)}
	if n.Raw.Length == 0 {
		v.start, v.end = key.start, key.end
	}
	switch n.Kind {
	case unstable.String:
		v.kind, v.text = kindString, string(n.Data)
	case unstable.Bool:
		v.kind, v.truth = kindBool, string(n.Data) == "true"
	case unstable.Integer, unstable.Float:
		v.kind, v.number = kindNumber, tomlNumber(string(n.Data))
	case unstable.Array:
		v.kind = kindArray
		for c := n.Children(); c.Next(); {
			if c.Node().Kind != unstable.Comment {
				v.items = append(v.items, t.value(c.Node(), key))
			}
		}
	case unstable.InlineTable:
		v.kind = kindObject
		for c := n.Children(); c.Next(); {
			if c.Node().Kind == unstable.KeyValue {
				t.assign(v, c.Node())
			}
		}
	default: // dates and times
		v.kind, v.text = kindDate, string(n.Data)
	}
	return v
}

// tomlNumber reads a number that the library has decoded before, so that it is one.
func tomlNumber(text string) float64 {
	text = strings.ReplaceAll(text, "_", "")
	if n, err := strconv.ParseInt(strings.TrimPrefix(text, "+"), 0, 64); err == nil {
		return float64(n)
	}
	n, _ := strconv.ParseFloat(text, 64)
	return n
}
