package env

import (
	"errors"
	"slices"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// builtinErrors are the classes of errors that keep their names on the way between scripts.
func builtinErrors() []string {
	return []string{
		"Error", "TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError", "URIError",
	}
}

// domErrors are names of DOMException.
func domErrors() []string {
	return []string{
		"DataCloneError", "AbortError", "TimeoutError", "NotSupportedError", "InvalidStateError", "SyntaxError",
		"InvalidCharacterError", "OperationError", "QuotaExceededError", "NotFoundError", "InvalidAccessError",
		"NetworkError", "DataError",
	}
}

// Outward returns an error that a script ended with as it crosses to another one: *isolate.Exception becomes
// *sidecar.Error. Others stay. It may be called from any goroutine. Like workerd: before compatibility date 2026-04-21 the
// name of a class of the script's own becomes part of the message.
func Outward(c isolate.Compatibility, err error) error {
	x, ok := errors.AsType[*isolate.Exception](err)
	if !ok {
		return err
	}
	e := &sidecar.Error{
		Reason: sidecar.ReasonException, Name: x.Name, Message: x.Message, Remote: true,
		Retryable: x.Retryable, Overloaded: x.Overloaded, Reset: x.Reset, Cause: x,
	}
	known := x.Name == "AggregateError" || slices.Contains(builtinErrors(), x.Name) || slices.Contains(domErrors(), x.Name)
	switch {
	case x.Name == "":
		e.Name = "Error"
	case !known && !EnhancedErrors(c):
		e.Name, e.Message = "Error", x.Name+": "+x.Message
	}
	return e
}

// EnhancedErrors reports whether a script's errors keep their names and own properties on their way to others.
func EnhancedErrors(c isolate.Compatibility) bool {
	return c.Since("2026-04-21", "enhanced_error_serialization", "legacy_error_serialization")
}

// ErrorProperties serializes the own properties of an error that was thrown, with more of them, for
// sidecar.Error.Properties. Those that cannot be serialized are left out. It returns nil when there are none.
func ErrorProperties(r *webapi.Realm, v goja.Value, more map[string]string) []byte {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil
	}
	out := r.Isolate().Runtime().NewObject()
	names, own := o.Keys(), o.GetOwnPropertyNames()
	for _, name := range []string{"cause", "errors"} { // not enumerable, and carried all the same
		if slices.Contains(own, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		switch name {
		case "message", "stack", "remote", "retryable", "overloaded", "durableObjectReset":
			continue
		}
		_ = r.Isolate().Runtime().Try(func() {
			value := o.Get(name)
			Encode(r, value, ForCall) // throws for what cannot be
			_ = out.Set(name, value)
		})
	}
	for name, text := range more {
		_ = out.Set(name, text)
	}
	if len(out.Keys()) == 0 {
		return nil
	}
	return Encode(r, out, ForCall)
}

// ObjectProperties are the properties of an error, for sidecar.Error.Properties, that arose in an object's stub and not in
// the object itself.
func ObjectProperties(id objectid.ID) string {
	b, err := v8value.Encode(&v8value.Object{Properties: []v8value.Property{
		{Key: "remote", Value: true}, {Key: "durableObjectId", Value: id.String()},
	}})
	if err != nil {
		return "" // it never is
	}
	return string(b)
}

// thrown is an error that a fetch through a stub rejects with.
type thrown struct{ error }

// JSValue makes the value that is thrown.
func (t *thrown) JSValue(r *webapi.Realm) goja.Value { return ErrorValue(r, t.error) }

// setProperties gives an error the properties that came with it.
func setProperties(r *webapi.Realm, o *goja.Object, properties []byte) {
	if len(properties) == 0 {
		return
	}
	v, err := Decode(r, properties)
	own, ok := v.(*goja.Object)
	if err != nil || !ok {
		return
	}
	for _, name := range own.Keys() {
		_ = o.DefineDataProperty(name, own.Get(name), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
}

// Thrown returns an error that rejects with what ErrorValue makes of it.
func Thrown(r *webapi.Realm, err error) error {
	return &isolate.Exception{Outcome: isolate.OutcomeException, Message: err.Error(), Value: ErrorValue(r, err)}
}

// ErrorValue makes the error that a caller's script sees of an error of a call.
func ErrorValue(r *webapi.Realm, err error) goja.Value {
	e := sidecar.FromError(err)
	if x, ok := errors.AsType[*sidecar.Error](err); ok {
		e = x
	}
	var o *goja.Object
	switch {
	case slices.Contains(builtinErrors(), e.Name):
		o = r.Isolate().NewError(e.Name, e.Message)
	case slices.Contains(domErrors(), e.Name):
		o = r.NewDOMException(e.Name, e.Message)
	default:
		o = r.Isolate().NewError("Error", e.Message)
		if e.Name != "" {
			_ = o.DefineDataProperty("name", r.Isolate().Runtime().ToValue(e.Name),
				goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		}
	}
	own := len(e.Properties) > 0
	for _, p := range []struct {
		name string
		set  bool
	}{
		{"remote", e.Remote && !own}, {"retryable", e.Retryable}, {"overloaded", e.Overloaded}, {"durableObjectReset", e.Reset},
	} {
		if p.set {
			_ = o.Set(p.name, true)
		}
	}
	setProperties(r, o, []byte(e.Properties))
	if own && e.Remote { // last, as workerd has it
		_ = o.Set("remote", true)
	}
	return o
}
