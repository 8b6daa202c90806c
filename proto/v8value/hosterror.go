package v8value

import "fmt"

// hostError is workerd's number for errors among host objects.
const hostError = 10

// hostObject reads a value of the platform's own. Errors are known here; anything else is ErrUnsupported.
//
// Like workerd with the flag enhanced_error_serialization (compatibility date 2026-04-21): a number for the class, the name
// if that number is 0, the message, and an object of the error's own properties, of which the stack and the cause are kept.
func (d *decoder) hostObject() (Value, error) {
	kind, err := d.uvarint32()
	if err != nil {
		return nil, err
	}
	if kind >= firstHostKind && kind-firstHostKind < MaxHostKind {
		h := &Host{Kind: kind - firstHostKind}
		d.begin(h)
		h.Value, err = d.value()
		return h, err
	}
	if kind != hostError {
		return nil, fmt.Errorf("%w: an object of the platform's own (kind %d)", ErrUnsupported, kind)
	}
	e := &Error{Stack: Undefined{}, Cause: Undefined{}}
	d.begin(e)
	if e.Name, err = d.hostErrorName(); err != nil {
		return nil, err
	}
	if e.Message, err = d.value(); err != nil {
		return nil, err
	}
	if !isText(e.Message) {
		e.Message = Undefined{}
	}
	v, err := d.value()
	if err != nil {
		return nil, err
	}
	own, ok := v.(*Object)
	if !ok {
		return nil, d.fail("an error without its properties")
	}
	if stack := own.Get("stack"); isText(stack) {
		e.Stack = stack
	}
	e.Cause = own.Get("cause")
	return e, nil
}

// hostErrorName reads the class of an error. Like workerd: jsg/ser.c++, ErrorTag.
func (d *decoder) hostErrorName() (string, error) {
	class, err := d.uvarint32()
	if err != nil {
		return "", err
	}
	if class == 0 {
		v, err := d.value()
		if err != nil {
			return "", err
		}
		name, ok := v.(string)
		if !ok {
			name = "Error"
		}
		return name, nil
	}
	names := []string{
		"Error", "TypeError", "RangeError", "ReferenceError", "SyntaxError", "CompileError", "LinkError", "RuntimeError",
		"SuspendError", "EvalError", "URIError", "AggregateError", "SuppressedError",
	}
	if int(class) > len(names) {
		return "", d.fail("an error of an unknown class")
	}
	return names[class-1], nil
}

func isText(v Value) bool {
	switch v.(type) {
	case string, UTF16:
		return true
	}
	return false
}
