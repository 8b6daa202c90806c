package webapi

import (
	"math/big"
	"reflect"

	"github.com/dop251/goja"
)

// kind is what an object of the language is, whatever its prototype says.
type kind int

const (
	kindPlain kind = iota
	kindArray
	kindFunction
	kindDate
	kindRegExp
	kindError
	kindBoxed
	kindMap
	kindSet
	kindArrayBuffer
	kindView
	kindPromise
	kindProxy
	kindWeak
)

// kindOf tells by how the engine keeps the object. Of weak collections, which it keeps like others, it trusts the tag.
func (r *Realm) kindOf(o *goja.Object) kind {
	switch o.ClassName() {
	case "Array":
		return kindArray
	case "Date":
		return kindDate
	case "RegExp":
		return kindRegExp
	case "Error":
		return kindError
	case "Number", "String", "Boolean":
		return kindBoxed
	}
	t := o.ExportType()
	switch t {
	case reflect.TypeFor[goja.Proxy]():
		return kindProxy
	case reflect.TypeFor[*goja.Promise]():
		return kindPromise
	case reflect.TypeFor[*big.Int]():
		return kindBoxed
	case reflect.TypeFor[goja.ArrayBuffer]():
		return kindArrayBuffer
	case reflect.TypeFor[[][2]any]():
		return kindMap
	case reflect.TypeFor[[]any]():
		return kindSet
	}
	if t != nil && t.Kind() == reflect.Slice {
		return kindView
	}
	if _, ok := goja.AssertFunction(o); ok {
		return kindFunction
	}
	switch r.tagOf(o) {
	case "DataView":
		if r.call(r.intrinsic.isView, goja.Undefined(), o).ToBoolean() {
			return kindView
		}
	case "WeakMap", "WeakSet", "WeakRef", "FinalizationRegistry":
		return kindWeak
	}
	return kindPlain
}

// boxedClass is the class of a boxed value.
func boxedClass(o *goja.Object) string {
	if name := o.ClassName(); name != "Object" {
		return name
	}
	return "BigInt"
}

// tagOf is an object's Symbol.toStringTag, or empty.
func (r *Realm) tagOf(o *goja.Object) string {
	if tag, ok := o.GetSymbol(goja.SymToStringTag).(goja.String); ok {
		return tag.String()
	}
	return ""
}

// bytesOf returns the bytes of an ArrayBuffer or a view of one, which are the script's own: whoever keeps them copies.
func (r *Realm) bytesOf(v goja.Value) ([]byte, bool) {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, false
	}
	switch r.kindOf(o) {
	case kindArrayBuffer:
		b, ok := o.Export().(goja.ArrayBuffer)
		return b.Bytes(), ok
	case kindView:
		b, offset, length, ok := r.viewOf(o)
		if !ok {
			return nil, false
		}
		return b.Bytes()[offset : offset+length], true
	}
	return nil, false
}

// viewOf takes a view apart.
func (r *Realm) viewOf(o *goja.Object) (buffer goja.ArrayBuffer, offset, length int, ok bool) {
	inner, ok := o.Get("buffer").(*goja.Object)
	if !ok {
		return buffer, 0, 0, false
	}
	buffer, ok = inner.Export().(goja.ArrayBuffer)
	if !ok {
		return buffer, 0, 0, false
	}
	offset, length = int(o.Get("byteOffset").ToInteger()), int(o.Get("byteLength").ToInteger())
	ok = offset >= 0 && length >= 0 && offset+length <= len(buffer.Bytes())
	return buffer, offset, length, ok
}
