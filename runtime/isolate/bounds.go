package isolate

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/dop251/goja"
)

// The engine's built-in functions run to their end: nothing interrupts them, and a stack that overflows within them ends
// the process. So those that a few words of a script could keep busy for hours, or have fill the memory, are bounded here.
const (
	// maxText bounds the strings that built-in functions make, in units of UTF-16.
	maxText = 1 << 27
	// maxList bounds the length of what functions of arrays go over, holes included.
	maxList = 1 << 26
	// maxArguments bounds the list that Function.prototype.apply takes.
	maxArguments = 1 << 22
	// maxNesting bounds lists within lists that are made a string, and proxies of proxies.
	maxNesting = 1000
	// maxPrototypes bounds a chain of prototypes that is made by functions.
	maxPrototypes = 2000
	// maxGroups bounds groups within groups of a regular expression that is made at run time.
	maxGroups = 200
	// maxDigits bounds the text of a BigInt.
	maxDigits = 1 << 20
	// maxEvaluated bounds the source of code that is made from strings, and maxSourceNesting what it nests.
	maxEvaluated, maxSourceNesting = 256 << 10, 500
)

const (
	overflowText = "Maximum call stack size exceeded"
	longText     = "Invalid string length"
	longListText = "Invalid array length"
)

// bounds puts checks before built-in functions.
type bounds struct {
	*Isolate
	// joins counts the lists that are being made a string, within each other.
	joins int
	err   error
}

// installBounds is run before the shim, whose functions build on these.
func (i *Isolate) installBounds() error {
	b := &bounds{Isolate: i}
	array, text := b.prototype("Array"), b.prototype("String")
	for _, name := range strings.Fields(`copyWithin every fill filter find findIndex findLast findLastIndex flatMap forEach
		includes indexOf lastIndexOf map reduce reduceRight reverse shift slice some sort splice toReversed toSorted
		toSpliced unshift with`) {
		b.before(array, name, func(c goja.FunctionCall) { b.list(c.This) })
	}
	b.before(array, "concat", func(c goja.FunctionCall) {
		b.list(c.This)
		for _, v := range c.Arguments {
			b.list(v)
		}
	})
	b.around(array, "join", b.join)
	b.around(array, "toLocaleString", b.join)
	b.before(b.object("Array"), "from", func(c goja.FunctionCall) { b.list(c.Argument(0)) })
	b.before(b.prototype("Function"), "apply", func(c goja.FunctionCall) {
		if b.length(c.Argument(1)) > maxArguments {
			b.Throw("RangeError", overflowText)
		}
	})
	b.before(b.object("Reflect"), "apply", func(c goja.FunctionCall) {
		if b.length(c.Argument(2)) > maxArguments {
			b.Throw("RangeError", overflowText)
		}
	})
	b.texts(text)
	b.chains()
	return b.err
}

func (b *bounds) object(name string) *goja.Object {
	o, ok := b.rt.Get(name).(*goja.Object)
	if !ok {
		b.err = fmt.Errorf("the engine has no %s", name)
		return b.rt.NewObject()
	}
	return o
}

func (b *bounds) prototype(name string) *goja.Object {
	o, _ := b.object(name).Get("prototype").(*goja.Object)
	return o
}

// function is a built-in function as it is called from Go, without the costs of a call from outside of the engine.
type function = func(goja.FunctionCall) goja.Value

// around replaces a built-in function.
func (b *bounds) around(owner *goja.Object, name string, replacement func(inner function, c goja.FunctionCall) goja.Value) {
	old, _ := owner.Get(name).(*goja.Object)
	if old == nil {
		return // the shim makes it
	}
	inner, ok := old.Export().(function)
	if !ok {
		b.err = fmt.Errorf("the function %s is not the engine's", name)
		return
	}
	f := b.Function(name, int(old.Get("length").ToInteger()), func(c goja.FunctionCall) goja.Value {
		return replacement(inner, c)
	})
	if err := owner.DefineDataProperty(name, f, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE); err != nil {
		b.err = err
	}
}

// before has a check run before a built-in function.
func (b *bounds) before(owner *goja.Object, name string, check func(goja.FunctionCall)) {
	b.around(owner, name, func(inner function, c goja.FunctionCall) goja.Value {
		check(c)
		return inner(c)
	})
}

var proxyType = reflect.TypeFor[goja.Proxy]()

// target returns what a proxy is for, or nil when o is none.
func target(o *goja.Object) *goja.Object {
	if o.ExportType() != proxyType {
		return nil
	}
	p, _ := o.Export().(goja.Proxy)
	return p.Target()
}

// length is how many elements a function of arrays would go over; proxies count as what they are for, whatever their
// traps say.
func (b *bounds) length(v goja.Value) int64 {
	o, ok := v.(*goja.Object)
	if !ok {
		return 0
	}
	if o.ClassName() != "Array" {
		for n := 0; n < maxNesting; n++ {
			inner := target(o)
			if inner == nil {
				break
			}
			o = inner
		}
	}
	switch n := o.Get("length").(type) {
	case *goja.Object, *goja.Symbol, nil:
		return 0
	default:
		return n.ToInteger()
	}
}

// list checks the length of what a function of arrays goes over.
func (b *bounds) list(v goja.Value) {
	if b.length(v) > maxList {
		b.Throw("RangeError", longListText)
	}
}

// join bounds how deep lists nest that are made a string, and how long it gets.
func (b *bounds) join(inner function, c goja.FunctionCall) goja.Value {
	if b.joins >= maxNesting {
		b.Throw("RangeError", overflowText)
	}
	b.checkInterrupt()
	length, separator := b.length(c.This), int64(1)
	if s, ok := c.Argument(0).(goja.String); ok {
		separator = int64(s.Length())
	}
	if length > maxList || length*separator > maxText || length > manyItems && b.itemsLength(c.This, length) > maxText {
		b.Throw("RangeError", longText)
	}
	b.joins++
	defer func() { b.joins-- }()
	v := inner(c)
	if s, ok := v.(goja.String); ok && s.Length() > maxText {
		b.Throw("RangeError", longText)
	}
	return v
}

// manyItems is from how many items on their lengths are counted before they are joined.
const manyItems = 4096

func (b *bounds) itemsLength(v goja.Value, length int64) (sum int64) {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Array" || target(o) != nil {
		return 0
	}
	b.rt.ForOf(o, func(item goja.Value) bool {
		if s, ok := item.(goja.String); ok {
			sum += int64(s.Length())
		}
		length--
		return length > 0 && sum <= maxText
	})
	return sum
}

// checkInterrupt stops a turn that is to be interrupted: built-in functions that call each other do not look.
func (i *Isolate) checkInterrupt() {
	if !i.watch.stopping.Load() {
		return
	}
	if f, ok := goja.AssertFunction(i.functions.nothing); ok {
		if _, err := f(goja.Undefined()); err != nil {
			panic(err)
		}
	}
}

// chains bounds prototypes and proxies, which the engine follows by recursion.
func (b *bounds) chains() {
	object := b.object("Object")
	b.before(object, "create", func(c goja.FunctionCall) { b.prototypes(nil, c.Argument(0)) })
	b.before(object, "setPrototypeOf", func(c goja.FunctionCall) { b.prototypes(c.Argument(0), c.Argument(1)) })
	b.before(b.object("Reflect"), "setPrototypeOf", func(c goja.FunctionCall) { b.prototypes(c.Argument(0), c.Argument(1)) })
	proto := object.Get("prototype").(*goja.Object)
	get, err := b.rt.RunString(`Object.getOwnPropertyDescriptor(Object.prototype, "__proto__")`)
	if err != nil {
		b.err = err
		return
	}
	accessor := get.(*goja.Object)
	b.before(accessor, "set", func(c goja.FunctionCall) { b.prototypes(c.This, c.Argument(0)) })
	b.err = orElse(b.err, proto.DefineAccessorProperty("__proto__", accessor.Get("get"), accessor.Get("set"),
		goja.FLAG_TRUE, goja.FLAG_FALSE))
}

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// prototypes checks what is to become the prototype of an object, which may be nil: proxies on its way must not lead
// back, and the way must not be too long.
func (b *bounds) prototypes(of, v goja.Value) {
	o, _ := v.(*goja.Object)
	child, _ := of.(*goja.Object)
	for n := 0; o != nil; n++ {
		switch inner := target(o); {
		case n > 0 && child != nil && o == child:
			b.Throw("TypeError", "Cyclic __proto__ value")
		case n > maxPrototypes:
			b.Throw("RangeError", overflowText)
		case inner != nil:
			o = inner
		default:
			o = o.Prototype()
		}
	}
}

// checkProxy(target) throws where proxies nest too deep.
func (i *Isolate) checkProxy(c goja.FunctionCall) goja.Value {
	o, _ := c.Argument(0).(*goja.Object)
	for n := 0; o != nil; n++ {
		if n > maxNesting {
			i.Throw("RangeError", overflowText)
		}
		o = target(o)
	}
	return goja.Undefined()
}

// boundConstructor(Engine, most) makes a function of a new.target and three arguments that constructs a buffer of the
// engine's, of at most so many elements.
func (i *Isolate) boundConstructor(c goja.FunctionCall) goja.Value {
	name := c.Argument(0).(*goja.Object).Get("name").String()
	construct, _ := goja.AssertConstructor(c.Argument(0))
	most := float64(c.Argument(1).ToInteger())
	return i.Function(name, 4, func(c goja.FunctionCall) goja.Value {
		target, _ := c.Argument(0).(*goja.Object)
		length := number(c.Argument(1))
		if o, ok := c.Argument(1).(*goja.Object); ok && o.ExportType() != bufferType {
			length = number(o.Get("length"))
		}
		switch {
		case length <= most:
		case name == "ArrayBuffer":
			i.Throw("RangeError", "Array buffer allocation failed")
		default:
			i.Throw("RangeError", "Invalid typed array length")
		}
		args := c.Arguments[1:]
		for len(args) > 0 && goja.IsUndefined(args[len(args)-1]) { // it means the same as none
			args = args[:len(args)-1]
		}
		o, err := construct(target, args...)
		if err != nil {
			panic(thrown(err))
		}
		return o
	})
}

var bufferType = reflect.TypeFor[goja.ArrayBuffer]()

// thrown is what to panic with for an error of a call into the engine.
func thrown(err error) any {
	if x, ok := errors.AsType[*goja.Exception](err); ok {
		return x.Value()
	}
	return err
}
