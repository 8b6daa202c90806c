package durableobject

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// maxNameBytes bounds the names of classes and methods.
const maxNameBytes = 256

// Validate says all that is wrong with a class.
func (c Class) Validate() error {
	var errs []error
	if !validName(c.Name) {
		errs = append(errs, fmt.Errorf("class %q: the name must be 1 to %d letters, digits and underscores",
			c.Name, maxNameBytes))
	}
	if c.New == nil && c.actors == nil {
		errs = append(errs, fmt.Errorf("class %q: New is missing", c.Name))
	}
	for name, m := range c.Methods {
		switch {
		case reserved(name):
			errs = append(errs, fmt.Errorf("class %q: method name %q is reserved", c.Name, name))
		case name == "" || len(name) > maxNameBytes:
			errs = append(errs, fmt.Errorf("class %q: method name %q must have 1 to %d bytes", c.Name, name, maxNameBytes))
		case m == nil:
			errs = append(errs, fmt.Errorf("class %q: method %q is nil", c.Name, name))
		}
	}
	return errors.Join(errs...)
}

func validName(s string) bool {
	for _, r := range s {
		if r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return false
		}
	}
	return s != "" && len(s) <= maxNameBytes
}

// reserved reports whether a name can't be a method's. Like workerd: api/worker-rpc.c++.
func reserved(method string) bool {
	return slices.Contains([]string{
		"fetch", "connect", "alarm", "webSocketMessage", "webSocketClose", "webSocketError", "dup", "constructor",
	}, method)
}

// ActorClass returns the class in the form in which a host runs it.
func (c Class) ActorClass() actor.Class {
	if c.actors != nil {
		return c.actors
	}
	return &goClass{c}
}

// goClass makes instances of a Go class.
type goClass struct{ class Class }

var _ actor.Class = (*goClass)(nil)

// New implements actor.Class.
func (g *goClass) New(ctx context.Context, s *State) (actor.Instance, error) {
	v, err := g.class.New(ctx, s)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, fmt.Errorf("class %s: New returned no instance", g.class.Name)
	}
	return &goInstance{class: &g.class, value: v}, nil
}

// goInstance delivers events to an instance of a Go class.
type goInstance struct {
	class *Class
	value any
}

var (
	_ actor.Instance     = (*goInstance)(nil)
	_ actor.AlarmHandler = (*goInstance)(nil)
)

// Fetch implements actor.Instance.
func (g *goInstance) Fetch(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	f, ok := g.value.(Fetcher)
	if !ok {
		return actor.ErrNoFetchHandler
	}
	delete(r.Header, sidecar.HeaderCF) // it is for scripts, and no header that could be passed on
	return f.Fetch(ctx, w, r)
}

// Call implements actor.Instance.
func (g *goInstance) Call(ctx context.Context, method string, args []byte) ([]byte, error) {
	if m := g.class.Methods[method]; m != nil {
		return m(ctx, g.value, args)
	}
	text := fmt.Sprintf("The RPC receiver does not implement the method %q.", method)
	if reserved(method) {
		text = fmt.Sprintf("'%s' is a reserved method and cannot be called over RPC.", method)
	}
	return nil, &Error{Reason: sidecar.ReasonNoSuchMethod, Name: "TypeError", Message: text, Remote: true}
}

// HandlesAlarms implements actor.AlarmHandler.
func (g *goInstance) HandlesAlarms() bool {
	_, ok := g.value.(Alarmer)
	return ok
}

// Alarm implements actor.Instance.
func (g *goInstance) Alarm(ctx context.Context, a AlarmInfo) error {
	f, ok := g.value.(Alarmer)
	if !ok {
		return actor.ErrNoAlarmHandler
	}
	return f.Alarm(ctx, a)
}
