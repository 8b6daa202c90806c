package repair

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"
)

// The names under which repaired trees call what Install brings. No source can spell them.
const (
	patternName unistring.String = "#pattern"
	awaitedName unistring.String = "#awaited"
	// elementName is the variable of a loop's element, and with a number that of an argument; holeName with a number
	// takes what a pattern passes over.
	elementName unistring.String = "#element"
	holeName    unistring.String = "#hole"
)

// FramePrefix begins the names of the intrinsics' functions in stack traces, where they have no business.
const FramePrefix = "tandem-internal:"

// Install gives a runtime the intrinsics that repaired trees call. They are bindings beside the global object, where no
// script can reach them. It runs before the first repaired program, and before scripts could change how arrays iterate.
//
// awaited gives what to wait for in place of an object that a method has returned and that is awaited at once. It must
// not throw. It may be nil if no tree was repaired by SpareWork.
func Install(rt *goja.Runtime, awaited func(*goja.Object) goja.Value) error {
	program, err := bindings()
	if err != nil {
		return fmt.Errorf("compile the intrinsics: %w", err)
	}
	v, err := rt.RunProgram(program)
	if err != nil {
		return fmt.Errorf("bind the intrinsics: %w", err)
	}
	bind, ok := goja.AssertFunction(v)
	if !ok {
		return errors.New("bind the intrinsics: the binder is no function")
	}
	p, err := newPatterns(rt)
	if err != nil {
		return err
	}
	_, err = bind(goja.Undefined(), intrinsic(rt, "pattern", p.pattern),
		intrinsic(rt, "awaited", func(c goja.FunctionCall) goja.Value {
			if o, ok := c.Arguments[0].(*goja.Object); ok && awaited != nil {
				return awaited(o)
			}
			return c.Arguments[0]
		}))
	return err
}

// bindings compiles the program that makes the bindings and yields the function that sets them.
var bindings = sync.OnceValues(func() (*goja.Program, error) {
	tree, err := goja.Parse(FramePrefix+"intrinsics", "let pattern, awaited; (p, a) => { pattern = p; awaited = a; }")
	if err != nil {
		return nil, err
	}
	WalkTree(tree, func(node any) (leave func()) {
		if name, ok := node.(*ast.Identifier); ok && len(name.Name) > 1 {
			name.Name = "#" + name.Name
		}
		return nil
	})
	return goja.CompileAST(tree, true)
})

func intrinsic(rt *goja.Runtime, name string, f func(goja.FunctionCall) goja.Value) goja.Value {
	o := rt.ToValue(f).(*goja.Object)
	_ = o.DefineDataProperty("name", rt.ToValue(FramePrefix+name), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	return o
}

// patterns is what #pattern needs of a runtime: how arrays iterate as long as no script changes it.
type patterns struct {
	rt *goja.Runtime
	// values is the method of arrays, iterators the prototype of what it makes, and next that one's method.
	values, next goja.Value
	iterators    *goja.Object
	// arrays and objects are the prototypes of arrays and of objects.
	arrays, objects *goja.Object
}

func newPatterns(rt *goja.Runtime) (*patterns, error) {
	p := &patterns{rt: rt}
	array := rt.NewArray()
	p.arrays, p.objects = array.Prototype(), rt.NewObject().Prototype()
	p.values = array.GetSymbol(goja.SymIterator)
	values, ok := goja.AssertFunction(p.values)
	if !ok {
		return nil, errors.New("arrays have no iterator")
	}
	v, err := values(array)
	if err != nil {
		return nil, fmt.Errorf("iterate an array: %w", err)
	}
	p.iterators = v.ToObject(rt).Prototype()
	p.next = p.iterators.Get("next")
	return p, nil
}

var arrayType = reflect.TypeFor[[]any]()

// pattern(value, count) is an array whose first count elements, one by one, are those that an array pattern would take
// of the value. It is the value itself if that is an array that iterates as arrays do.
func (p *patterns) pattern(c goja.FunctionCall) goja.Value {
	v, count := c.Arguments[0], int(c.Arguments[1].ToInteger())
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != arrayType || o.ClassName() != "Array" || p.iterators.Get("next") != p.next ||
		o.GetSymbol(goja.SymIterator) != p.values {
		return p.iterate(v, count)
	}
	length := o.Get("length").ToInteger()
	if length >= int64(count) || p.inheritsNone(o, int(length), count) {
		return v
	}
	elements := make([]any, count)
	for i := range elements {
		elements[i] = goja.Undefined()
	}
	for i := 0; int64(i) < o.Get("length").ToInteger() && i < count; i++ {
		if element := o.Get(strconv.Itoa(i)); element != nil {
			elements[i] = element
		}
	}
	return p.rt.NewArray(elements...)
}

// inheritsNone reports whether an array's prototypes have no elements from one index to another: beyond an array's length
// iteration does not look at them.
func (p *patterns) inheritsNone(array *goja.Object, from, to int) bool {
	if array.Prototype() != p.arrays || p.arrays.Prototype() != p.objects || p.arrays.Get("length").ToInteger() != 0 {
		return false
	}
	for i := from; i < to; i++ {
		if p.objects.Get(strconv.Itoa(i)) != nil {
			return false
		}
	}
	return true
}

// iterate takes elements by the protocol, and closes the iterator.
func (p *patterns) iterate(v goja.Value, count int) goja.Value {
	elements := make([]any, count)
	n := 0
	p.rt.ForOf(v, func(element goja.Value) bool {
		elements[n] = element
		n++
		return n < count
	})
	for ; n < count; n++ {
		elements[n] = goja.Undefined()
	}
	return p.rt.NewArray(elements...)
}
