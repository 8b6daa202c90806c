package project

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// parseJSON reads JSON with comments and trailing commas.
func parseJSON(d *document) *Diagnostic {
	tree, err := hujson.Parse(d.data)
	if err != nil {
		var line, column int
		text := err.Error()
		if _, scanErr := fmt.Sscanf(text, "hujson: line %d, column %d:", &line, &column); scanErr != nil {
			return d.fault(0, 0, "%s", strings.TrimPrefix(text, "hujson: "))
		}
		g := d.atLine(line, column)
		if g.Message = err.Error(); errors.Unwrap(err) != nil {
			g.Message = errors.Unwrap(err).Error()
		}
		return g
	}
	root, err := fromJSON(&tree)
	if err != nil {
		return d.fault(0, 0, "%v", err)
	}
	d.root = root
	return nil
}

func fromJSON(n *hujson.Value) (*value, error) {
	v := &value{start: n.StartOffset, end: n.EndOffset}
	switch t := n.Value.(type) {
	case hujson.Literal:
		return v, v.literal(t)
	case *hujson.Object:
		v.kind = kindObject
		for i := range t.Members {
			m := &t.Members[i]
			name, ok := m.Name.Value.(hujson.Literal)
			if !ok {
				return nil, errShape
			}
			child, err := fromJSON(&m.Value)
			if err != nil {
				return nil, err
			}
			v.members = append(v.members, member{name: name.String(), start: m.Name.StartOffset, end: m.Name.EndOffset,
				value: child})
		}
	case *hujson.Array:
		v.kind = kindArray
		for i := range t.Elements {
			child, err := fromJSON(&t.Elements[i])
			if err != nil {
				return nil, err
			}
			v.items = append(v.items, child)
		}
	default:
		return nil, errShape
	}
	return v, nil
}

func (v *value) literal(l hujson.Literal) error {
	switch l.Kind() {
	case 'n':
		v.kind = kindNull
	case 't', 'f':
		v.kind, v.truth = kindBool, l.Bool()
	case '"':
		v.kind, v.text = kindString, l.String()
	case '0':
		v.kind = kindNumber
		n, err := strconv.ParseFloat(string(l), 64)
		if err != nil {
			return fmt.Errorf("number %s is out of range", l)
		}
		v.number = n
	default:
		return errShape
	}
	return nil
}
