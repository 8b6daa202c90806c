package durableobject

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
)

type greeter struct{ greeting string }

func (g *greeter) Greet(_ context.Context, name string) (string, error) {
	if name == "" {
		return "", Exception("RangeError", "nobody to greet")
	}
	return g.greeting + ", " + name, nil
}

func greeterClass(v any) Class {
	return Class{
		Name:    "Greeter",
		New:     func(context.Context, *State) (any, error) { return v, nil },
		Methods: map[string]Method{"greet": Func((*greeter).Greet)},
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		instance any
		method   string
		args     []any
		want     string
		err      Error
		reason   sidecar.Reason
	}{
		{name: "result", instance: &greeter{"Hello"}, method: "greet", args: []any{"Ada"}, want: "Hello, Ada"},
		{
			name: "exception", instance: &greeter{}, method: "greet", args: []any{""},
			reason: sidecar.ReasonException, err: Error{Name: "RangeError", Message: "nobody to greet"},
		},
		{
			name: "missing argument", instance: &greeter{}, method: "greet",
			reason: sidecar.ReasonException, err: Error{Name: "RangeError", Message: "nobody to greet"},
		},
		{
			name: "unknown method", instance: &greeter{}, method: "leave",
			reason: sidecar.ReasonNoSuchMethod,
			err:    Error{Name: "TypeError", Message: `The RPC receiver does not implement the method "leave".`},
		},
		{
			name: "reserved method", instance: &greeter{}, method: "alarm",
			reason: sidecar.ReasonNoSuchMethod,
			err:    Error{Name: "TypeError", Message: "'alarm' is a reserved method and cannot be called over RPC."},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			i := instance(t, greeterClass(tt.instance))
			args, err := v8value.MarshalArguments(tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			value, err := i.Call(t.Context(), tt.method, args)
			if tt.err.Message != "" {
				var e *Error
				if !errors.As(err, &e) || e.Message != tt.err.Message || e.Name != tt.err.Name || e.Reason != tt.reason {
					t.Errorf("got %#v, want %v: %v", err, tt.reason, tt.err.Message)
				}
				return
			}
			var got string
			if err == nil {
				err = v8value.Unmarshal(value, &got)
			}
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	i := instance(t, greeterClass(&greeter{}))
	_, err := i.Call(t.Context(), "greet", []byte{1, 2, 3})
	var e *Error
	if !errors.As(err, &e) || e.Name != "TypeError" || !strings.HasPrefix(e.Message, "arguments: ") {
		t.Errorf("got %v", err)
	}
}

func TestInstanceOfAnotherType(t *testing.T) {
	t.Parallel()
	i := instance(t, greeterClass(7))
	args, _ := v8value.MarshalArguments("Ada")
	if _, err := i.Call(t.Context(), "greet", args); err == nil ||
		err.Error() != "durableobject: instance is a int, its method wants *durableobject.greeter" {
		t.Errorf("got %v", err)
	}
}

func TestHandlersThatAreNotThere(t *testing.T) {
	t.Parallel()
	i := instance(t, greeterClass(&greeter{}))
	if err := i.Fetch(t.Context(), nil, nil); !errors.Is(err, actor.ErrNoFetchHandler) {
		t.Errorf("fetch: got %#v", err)
	}
	if err := i.Alarm(t.Context(), AlarmInfo{}); !errors.Is(err, actor.ErrNoAlarmHandler) {
		t.Errorf("alarm: got %v", err)
	}
}

// full is an instance with all handlers.
type full struct{ seen []string }

func (f *full) Fetch(context.Context, http.ResponseWriter, *http.Request) error {
	f.seen = append(f.seen, "fetch")
	return nil
}

func (f *full) Alarm(context.Context, AlarmInfo) error {
	f.seen = append(f.seen, "alarm")
	return nil
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	f := &full{}
	i := instance(t, Class{Name: "Full", New: func(context.Context, *State) (any, error) { return f, nil }})
	if err := errors.Join(i.Fetch(t.Context(), nil, httptest.NewRequest("GET", "/", nil)), i.Alarm(t.Context(), AlarmInfo{})); err != nil {
		t.Error(err)
	}
	if got := strings.Join(f.seen, " "); got != "fetch alarm" {
		t.Errorf("got %s", got)
	}
}

func TestNewReturnsNothing(t *testing.T) {
	t.Parallel()
	_, err := greeterClass(nil).ActorClass().New(t.Context(), nil)
	if err == nil || err.Error() != "class Greeter: New returned no instance" {
		t.Errorf("got %v", err)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	valid := greeterClass(&greeter{})
	if err := valid.Validate(); err != nil {
		t.Error(err)
	}
	bad := Class{Name: "a-b", Methods: map[string]Method{"fetch": valid.Methods["greet"], "": nil, "nothing": nil}}
	err := bad.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{
		`class "a-b": the name must be`, `class "a-b": New is missing`, `method name "fetch" is reserved`,
		`method name "" must have`, `method "nothing" is nil`,
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error does not say %q: %v", part, err)
		}
	}
}

func instance(t *testing.T, c Class) actor.Instance {
	t.Helper()
	i, err := c.ActorClass().New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return i
}
