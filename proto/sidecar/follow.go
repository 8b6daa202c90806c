package sidecar

import (
	"context"
	"fmt"

	"github.com/tandem-do/tandem/proto/v8value"
)

// ServiceError says that a path leads to the stub of a binding, which only a script's process can call.
type ServiceError struct {
	// Service is of the kind HostService.
	Service *v8value.Host
	// Path is what is left of the path.
	Path []string
}

// Error says what it is.
func (e *ServiceError) Error() string { return "the path leads to a binding" }

// Invoke makes a call on a value that is here: the path leads through plain objects to a stub, which takes the rest of
// it, or to a value, which can be read. The error is a *ServiceError where it leads to a binding.
func (v Value) Invoke(ctx context.Context, in Invocation) (Value, error) {
	at, err := v8value.Decode(v.Bytes)
	if err != nil {
		return Value{}, internalError(fmt.Errorf("decode the result that a call is made on: %w", err))
	}
	for n := 0; ; n++ {
		if s := v.stubOf(at); s != nil {
			in.Path = in.Path[n:]
			if in.Read && len(in.Path) == 0 {
				break
			}
			return s.Invoke(ctx, in)
		}
		if h, ok := at.(*v8value.Host); ok && h.Kind == HostService && (n < len(in.Path) || !in.Read) {
			return Value{}, &ServiceError{Service: h, Path: in.Path[n:]}
		}
		if n == len(in.Path) {
			break
		}
		o, ok := at.(*v8value.Object)
		if !ok {
			return Value{}, NoSuchMethod(in.Path[n:])
		}
		at = o.Get(in.Path[n])
		if _, missing := at.(v8value.Undefined); missing && !o.Has(in.Path[n]) {
			return Value{}, NoSuchMethod(in.Path[n:])
		}
	}
	if !in.Read {
		return Value{}, NotFunction(in.Path)
	}
	return v.part(at)
}

// stubOf returns the stub that a part of v is.
func (v Value) stubOf(part v8value.Value) Stub {
	h, ok := part.(*v8value.Host)
	if !ok || h.Kind != HostStub {
		return nil
	}
	n, ok := v.Index(h.Value)
	if !ok {
		return nil
	}
	return v.Stubs[n]
}

// Index returns the index in Stubs that a platform object says; false when there is none.
func (v Value) Index(said v8value.Value) (int, bool) {
	n, ok := said.(float64)
	if !ok || !(n >= 0 && n < float64(len(v.Stubs))) { // not a number is neither
		return 0, false
	}
	return int(n), true
}

// part returns a part of v as a value of its own, with references of its own to v's stubs.
func (v Value) part(at v8value.Value) (Value, error) {
	b, err := v8value.Encode(at)
	if err != nil {
		return Value{}, internalError(fmt.Errorf("encode a part of a result: %w", err))
	}
	out := Value{Bytes: b, Stubs: make([]Stub, 0, len(v.Stubs))}
	for _, s := range v.Stubs { // the indices stay as they are, and what is not named is dropped by whoever decodes it
		out.Stubs = append(out.Stubs, s.Dup())
	}
	return out, nil
}
