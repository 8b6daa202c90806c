package isolate

import (
	"errors"
	"reflect"
	"unsafe"

	"github.com/dop251/goja"
)

// rest brings the engine back to rest after a turn that was stopped. Where that happens within functions that wait for
// promises, the engine keeps their frames: it takes itself to be within a call from then on, and continues no promise any
// more. Nothing that it exports undoes that, so its own fields are set to what they are between turns.
type rest struct {
	// machine is the engine's virtual machine.
	machine reflect.Value
	// scope is its outermost scope.
	scope reflect.Value
}

// errEngineShape is returned for an engine whose fields are others than those known here.
var errEngineShape = errors.New("the engine is another version than the one that this was made for")

// newRest looks at an engine that is at rest.
func newRest(rt *goja.Runtime) (*rest, error) {
	f := reflect.ValueOf(rt).Elem().FieldByName("vm")
	if !f.IsValid() || f.Kind() != reflect.Pointer || f.Type().Elem().Kind() != reflect.Struct {
		return nil, errEngineShape
	}
	r := &rest{machine: accessible(f).Elem()}
	for name, kind := range map[string]reflect.Kind{
		"callStack": reflect.Slice, "tryStack": reflect.Slice, "iterStack": reflect.Slice, "refStack": reflect.Slice,
		"stack": reflect.Slice, "prg": reflect.Pointer, "privEnv": reflect.Pointer, "curAsyncRunner": reflect.Pointer,
		"stash": reflect.Pointer, "newTarget": reflect.Interface, "result": reflect.Interface,
		"pc": reflect.Int, "sp": reflect.Int, "sb": reflect.Int, "args": reflect.Int,
	} {
		if f := r.machine.FieldByName(name); !f.IsValid() || f.Kind() != kind {
			return nil, errEngineShape
		}
	}
	scope := r.field("stash")
	r.scope = reflect.New(scope.Type()).Elem()
	r.scope.Set(scope)
	return r, nil
}

// accessible is a field of the engine's that can be read and set.
func accessible(f reflect.Value) reflect.Value {
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}

func (r *rest) field(name string) reflect.Value { return accessible(r.machine.FieldByName(name)) }

// restore is run while no code of the engine's is on the Go stack.
func (r *rest) restore() {
	for _, name := range []string{
		"callStack", "tryStack", "iterStack", "refStack", "stack", "prg", "privEnv", "curAsyncRunner", "newTarget", "result",
		"sp", "args", "pc",
	} {
		r.field(name).SetZero()
	}
	r.field("sb").SetInt(-1)
	r.field("stash").Set(r.scope)
}
