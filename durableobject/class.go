package durableobject

import (
	"context"
	"fmt"
	"net/http"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/durableobject/clock"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/binding"
)

type (
	// State is what an instance has of its actor: Cloudflare's `ctx`.
	State = actor.State
	// Storage is the storage of one object.
	Storage = storage.Object
	// Clock is the time by which a host's objects live: see State.Clock.
	Clock = clock.Clock
	// Timer is a timer of a Clock.
	Timer = clock.Timer
	// ID identifies one object within its namespace.
	ID = objectid.ID
	// Namespace is the binding of a class: it makes IDs and stubs.
	Namespace = binding.Namespace
	// Stub is the caller's handle on one object.
	Stub = binding.Stub
	// AlarmInfo says which run of an alarm this is.
	AlarmInfo = actor.AlarmInfo
	// AbortOptions change what State.AbortWith does.
	AbortOptions = actor.AbortOptions
	// Error is an error of a call as the caller sees it.
	Error = sidecar.Error
)

// Class is a Durable Object class written in Go.
type Class struct {
	// Name is the class's name; with the worker's name it makes the unique key: <worker>-<Name>.
	Name string
	// Key is the unique key where it is another one, such as that of a class that was renamed. Events for <worker>-<Name>
	// then go to the same objects, by their names.
	Key string
	// New makes an instance, before its first event; other events wait for it. An error breaks the object and is
	// what its callers get. The instance may be a Fetcher and an Alarmer.
	New func(ctx context.Context, s *State) (any, error)
	// Methods are what stubs can call, by name.
	Methods map[string]Method

	// actors is set instead of New and Methods for a class that another package runs.
	actors actor.Class
}

// Foreign is a class whose code is not written against this package, such as one in JavaScript.
func Foreign(name string, actors actor.Class) Class { return Class{Name: name, actors: actors} }

// Fetcher is an instance that handles HTTP requests. An error, if nothing was written yet, reaches the caller as
// an error of its call, not as a response.
type Fetcher interface {
	Fetch(ctx context.Context, w http.ResponseWriter, r *http.Request) error
}

// Alarmer is an instance that handles alarms. An error has the alarm retried.
type Alarmer interface {
	Alarm(ctx context.Context, a AlarmInfo) error
}

// Method is one method of a class. Make it with Func.
type Method func(ctx context.Context, instance any, args []byte) ([]byte, error)

// Func makes a Method of a method expression such as (*Counter).Increment. It takes one argument and returns one
// value, both serialized as package v8value does.
func Func[T, A, R any](fn func(T, context.Context, A) (R, error)) Method {
	return func(ctx context.Context, instance any, args []byte) ([]byte, error) {
		t, ok := instance.(T)
		if !ok {
			return nil, fmt.Errorf("durableobject: instance is a %T, its method wants %T", instance, t)
		}
		var list [1]A
		if err := v8value.UnmarshalArguments(args, &list[0]); err != nil {
			return nil, Exception("TypeError", "arguments: "+err.Error())
		}
		r, err := fn(t, ctx, list[0])
		if err != nil {
			return nil, err
		}
		return v8value.Marshal(r)
	}
}

// Exception returns an error with a class name and a message that reach the caller as they are.
func Exception(name, message string) error {
	return &Error{Reason: sidecar.ReasonException, Name: name, Message: message}
}

// Call runs a method of the object behind stub with one argument. Errors are *Error.
func Call[R any](ctx context.Context, stub *Stub, method string, arg any) (R, error) {
	var r R
	args, err := v8value.MarshalArguments(arg)
	if err != nil {
		return r, fmt.Errorf("durableobject: argument of %s: %w", method, err)
	}
	value, err := stub.Call(ctx, method, args)
	if err != nil {
		return r, err
	}
	if err := v8value.Unmarshal(value, &r); err != nil {
		return r, fmt.Errorf("durableobject: result of %s: %w", method, err)
	}
	return r, nil
}

// Get reads the value of a key into a T, and says whether there is one.
func Get[T any](ctx context.Context, s *Storage, key string) (value T, ok bool, err error) {
	b, ok, err := s.Get(ctx, key, storage.GetOptions{})
	if err != nil || !ok {
		return value, false, err
	}
	if err := v8value.Unmarshal(b, &value); err != nil {
		return value, false, fmt.Errorf("durableobject: value of key %q: %w", key, err)
	}
	return value, true, nil
}

// Put sets the value of a key.
func Put(ctx context.Context, s *Storage, key string, value any) error {
	b, err := v8value.Marshal(value)
	if err != nil {
		return fmt.Errorf("durableobject: value of key %q: %w", key, err)
	}
	return s.Put(ctx, []storage.Entry{{Key: key, Value: b}}, storage.PutOptions{})
}

// Delete removes a key and says whether it existed.
func Delete(ctx context.Context, s *Storage, key string) (bool, error) {
	n, err := s.Delete(ctx, []string{key}, storage.PutOptions{})
	return n > 0, err
}
