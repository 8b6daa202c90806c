package kvapi

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"

	"github.com/dop251/goja"

	protokv "github.com/tandem-do/tandem/proto/kv"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/binding/kv"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

//go:embed kv.js
var source string

// compile compiles the class, once a process.
var compile = sync.OnceValues(func() (*goja.Program, error) {
	return goja.Compile("tandem-internal:kv", source, true)
})

const illegalInvocation = "Illegal invocation: function called with incorrect `this` reference. See " +
	"https://developers.cloudflare.com/workers/observability/errors/#illegal-invocation-errors for details."

// class is what an isolate has of the class KvNamespace.
type class struct {
	realm *webapi.Realm
	make  goja.Callable
}

type classKey struct{}

// New makes the object of a KV namespace, for env. It runs on the isolate's goroutine.
func New(r *webapi.Realm, n *kv.Namespace) (goja.Value, error) {
	i := r.Isolate()
	c, ok := i.Value(classKey{}).(*class)
	if !ok {
		var err error
		if c, err = newClass(r); err != nil {
			return nil, fmt.Errorf("class of KV namespaces: %w", err)
		}
		i.SetValue(classKey{}, c)
	}
	return c.make(goja.Undefined(), i.Runtime().ToValue(&handle{Namespace: n}))
}

// handle is what is behind the object: a namespace whose reads and writes of one key leave in the order in which they were
// made.
type handle struct {
	*kv.Namespace
	// orders belong to the isolate's goroutine.
	orders [protokv.Shards]binding.Order
}

// take takes the place of an operation on a key.
func (h *handle) take(key string) *binding.Place { return h.orders[protokv.Shard(key)].Take() }

func newClass(r *webapi.Realm) (*class, error) {
	p, err := compile()
	if err != nil {
		return nil, err
	}
	c := &class{realm: r}
	rt := r.Isolate().Runtime()
	v, err := rt.RunProgram(p)
	if err != nil {
		return nil, err
	}
	host, err := c.host()
	if err != nil {
		return nil, err
	}
	run, _ := goja.AssertFunction(v)
	if v, err = run(goja.Undefined(), host); err != nil {
		return nil, err
	}
	made := v.(*goja.Object)
	c.make, _ = goja.AssertFunction(made.Get("make"))
	r.AddPlatformClass(made.Get("class").(*goja.Object))
	return c, nil
}

// host are the functions that the script is built on. Their first argument is the handle.
func (c *class) host() (*goja.Object, error) {
	i := c.realm.Isolate()
	o := i.Runtime().NewObject()
	if err := o.Set("illegalInvocation", illegalInvocation); err != nil {
		return nil, err
	}
	for name, f := range map[string]func(goja.FunctionCall) goja.Value{
		"requireEvent": func(goja.FunctionCall) goja.Value {
			i.RequireEvent()
			return goja.Undefined()
		},
		"isHandle": func(call goja.FunctionCall) goja.Value {
			_, ok := call.Argument(0).Export().(*handle)
			return i.Runtime().ToValue(ok)
		},
		"checkGet": func(call goja.FunctionCall) goja.Value {
			return c.demand(handleOf(call).CheckGet(keyOf(call.Argument(1))))
		},
		"checkPut": func(call goja.FunctionCall) goja.Value {
			i.RequireEvent()
			return c.demand(handleOf(call).CheckPut(keyOf(call.Argument(1))))
		},
		"content": c.content, "append": c.append,
		"get": c.get, "bulk": c.bulk, "put": c.put, "delete": c.delete, "list": c.list,
	} {
		if err := o.Set(name, i.Function(name, 0, f)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func handleOf(call goja.FunctionCall) *handle { return call.Argument(0).Export().(*handle) }

// demand throws an error, if there is one.
func (c *class) demand(err error) goja.Value {
	if err != nil {
		panic(c.thrown(err))
	}
	return goja.Undefined()
}

// thrown makes the error of a script.
func (c *class) thrown(err error) goja.Value {
	e, ok := err.(*kv.Error) //nolint:errorlint // what wraps one is no answer of a namespace
	if !ok {
		return c.realm.Isolate().ThrownValue(err)
	}
	o := c.realm.Isolate().NewError(e.Class, e.Message)
	if e.Retryable {
		_ = o.Set("retryable", true)
	}
	return o
}

// rejection makes an error of which a promise is rejected with what thrown makes.
func (c *class) rejection(err error) error {
	v := c.thrown(err)
	return &isolate.Exception{Outcome: isolate.OutcomeException, Message: err.Error(), Value: v}
}

// keyOf returns an argument that is a key, in UTF-8. One with half a surrogate pair is given as what no UTF-8 is, for
// the namespace to refuse.
func keyOf(v goja.Value) string {
	key := v.String()
	if !strings.ContainsRune(key, unicode.ReplacementChar) {
		return key
	}
	s, ok := v.ToString().(goja.String)
	for i := 0; ok && i < s.Length(); i++ {
		switch c := rune(s.CharAt(i)); {
		case !utf16.IsSurrogate(c):
		case i+1 < s.Length() && utf16.DecodeRune(c, rune(s.CharAt(i+1))) != unicode.ReplacementChar:
			i++
		default:
			return "\xff"
		}
	}
	return key
}

// integer returns an argument that is a number, or nil.
func integer(v goja.Value) *int64 {
	if goja.IsUndefined(v) {
		return nil
	}
	n := v.ToInteger()
	return &n
}

// optional returns an argument that is a string, or "".
func optional(v goja.Value) string {
	if goja.IsUndefined(v) {
		return ""
	}
	return v.String()
}
