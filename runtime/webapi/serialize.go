package webapi

import (
	"fmt"
	"math/big"
	"strings"
	"unicode/utf16"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/v8value"
)

// SerializeOptions choose what may be serialized beside the values of the language.
type SerializeOptions struct {
	// PlainOnly refuses instances of the script's own classes, as calls do; storage keeps them as plain objects.
	PlainOnly bool
	// Host is asked first for every object that is a function, a proxy or has a Go value behind it, and with PlainOnly for
	// those that would be refused. It reports false when it knows
	// nothing of it. What it returns may be of a type that v8value does not know, if the caller encodes it itself.
	Host func(o *goja.Object) (v8value.Value, bool)
}

// Serialize takes a value of the language apart. It throws a DataCloneError at what cannot be serialized, and what
// getters throw.
func (r *Realm) Serialize(v goja.Value, o SerializeOptions) v8value.Value {
	s := serializer{realm: r, options: o, seen: map[*goja.Object]v8value.Value{}}
	return s.value(v)
}

// SerializeList is Serialize of an array of these.
func (r *Realm) SerializeList(list []goja.Value, o SerializeOptions) v8value.Value {
	s := serializer{realm: r, options: o, seen: map[*goja.Object]v8value.Value{}, depth: 1}
	out := &v8value.Array{Length: uint32(len(list)), Items: make([]v8value.Value, len(list))}
	for n, v := range list {
		out.Items[n] = s.value(v)
	}
	return out
}

// maxCloneDepth bounds nesting, which recursion follows; v8value has the same bound.
const maxCloneDepth = 2000

type serializer struct {
	realm   *Realm
	options SerializeOptions
	seen    map[*goja.Object]v8value.Value
	depth   int
}

func (s *serializer) fail(format string, args ...any) {
	s.realm.throwDOM("DataCloneError", fmt.Sprintf(format, args...))
}

func (s *serializer) value(v goja.Value) v8value.Value {
	switch v := v.(type) {
	case nil:
		return v8value.Undefined{}
	case *goja.Object:
		return s.object(v)
	case goja.String:
		return stringValue(v)
	case *goja.Symbol:
		s.fail("Symbol(%s) could not be cloned.", v.String())
	}
	switch {
	case goja.IsUndefined(v):
		return v8value.Undefined{}
	case goja.IsNull(v):
		return nil
	case goja.IsBigInt(v):
		n, _ := v.Export().(*big.Int)
		return n
	case goja.IsNumber(v):
		return v.ToFloat()
	}
	return v.ToBoolean()
}

// stringValue keeps halves of characters, which a Go string cannot hold.
func stringValue(v goja.String) v8value.Value {
	text := v.String()
	if !strings.Contains(text, "\ufffd") {
		return text
	}
	units := make(v8value.UTF16, v.Length())
	broken := false
	for n := range units {
		units[n] = v.CharAt(n)
	}
	for n := 0; n < len(units); n++ {
		if !utf16.IsSurrogate(rune(units[n])) {
			continue
		}
		if n+1 < len(units) && utf16.DecodeRune(rune(units[n]), rune(units[n+1])) != '\ufffd' {
			n++
			continue
		}
		broken = true
	}
	if broken {
		return units
	}
	return text
}

func (s *serializer) object(o *goja.Object) v8value.Value {
	if known, ok := s.seen[o]; ok {
		return known
	}
	if s.depth++; s.depth > maxCloneDepth {
		s.realm.isolate.Throw("RangeError", "Maximum call stack size exceeded")
	}
	defer func() { s.depth-- }()
	kind := s.realm.kindOf(o)
	if kind == kindFunction || kind == kindProxy || s.realm.isNative(o) {
		return s.host(o, kind)
	}
	switch kind {
	case kindArray:
		return s.array(o)
	case kindDate:
		return s.keep(o, v8value.Date(s.realm.call(s.realm.intrinsic.getTime, o).ToFloat()))
	case kindRegExp:
		return s.keep(o, &v8value.RegExp{
			Source: s.value(o.Get("source")), Flags: regExpFlags(o.Get("flags").String()),
		})
	case kindError:
		return s.error(o)
	case kindBoxed:
		return s.keep(o, &v8value.Boxed{Value: s.value(s.realm.unbox(o))})
	case kindMap:
		return s.mapValue(o)
	case kindSet:
		return s.set(o)
	case kindArrayBuffer:
		return s.buffer(o)
	case kindView:
		return s.view(o)
	case kindPromise:
		s.fail("#<Promise> could not be cloned.")
	case kindWeak:
		s.fail("#<%s> could not be cloned.", s.realm.tagOf(o))
	}
	if s.realm.tagOf(o) == "Generator" {
		s.fail("[object Generator] could not be cloned.")
	}
	return s.plain(o)
}

func (s *serializer) keep(o *goja.Object, v v8value.Value) v8value.Value {
	s.seen[o] = v
	return v
}

// host is a function or an object of the platform.
func (s *serializer) host(o *goja.Object, kind kind) v8value.Value {
	if s.options.Host != nil {
		if v, ok := s.options.Host(o); ok {
			return s.keep(o, v)
		}
	}
	if kind == kindFunction {
		s.fail("%s could not be cloned.", s.realm.call(s.realm.intrinsic.functionText, o).String())
	}
	if kind == kindProxy {
		s.fail("#<Object> could not be cloned.")
	}
	s.unsupported(o)
	return nil
}

func (s *serializer) unsupported(o *goja.Object) {
	if s.realm.prelude.loaded["events"] != nil && s.realm.isSignal(o) {
		s.fail("AbortSignal serialization is not enabled.")
	}
	s.fail("Could not serialize object of type \"%s\". This type does not support serialization.", s.realm.className(o))
}

func (s *serializer) plain(o *goja.Object) v8value.Value {
	if s.options.PlainOnly {
		if p := o.Prototype(); p != s.realm.intrinsic.objectPrototype {
			return s.host(o, kindPlain)
		}
	}
	out := &v8value.Object{}
	s.seen[o] = out
	for _, key := range o.Keys() {
		out.Properties = append(out.Properties, v8value.Property{Key: propertyKey(key), Value: s.value(o.Get(key))})
	}
	return out
}

// propertyKey is a number for what is an index, as V8 keeps it.
func propertyKey(key string) v8value.Value {
	if n, ok := arrayIndex(key); ok {
		return float64(n)
	}
	return key
}

func arrayIndex(key string) (uint32, bool) {
	if key == "" || len(key) > 10 || key[0] == '0' && len(key) > 1 {
		return 0, false
	}
	var n uint64
	for _, c := range []byte(key) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return uint32(n), n < 1<<32-1
}

// maxDenseLength is up to which length an array's holes are written out.
const maxDenseLength = 1 << 16

func (s *serializer) array(o *goja.Object) v8value.Value {
	length := uint32(o.Get("length").ToInteger())
	out := &v8value.Array{Length: length}
	s.seen[o] = out
	keys := o.Keys()
	sparse := length > maxDenseLength && uint64(length) > 4*uint64(len(keys))
	if !sparse {
		out.Items = make([]v8value.Value, length)
		for n := range out.Items {
			out.Items[n] = v8value.Hole{}
		}
	}
	for _, key := range keys {
		v := s.value(o.Get(key))
		if n, ok := arrayIndex(key); ok && !sparse && n < length {
			out.Items[n] = v
		} else {
			out.Properties = append(out.Properties, v8value.Property{Key: propertyKey(key), Value: v})
		}
	}
	return out
}

func (s *serializer) error(o *goja.Object) v8value.Value {
	e := &v8value.Error{Name: "Error", Message: v8value.Undefined{}, Stack: v8value.Undefined{}, Cause: v8value.Undefined{}}
	s.seen[o] = e
	if name, ok := o.Get("name").(goja.String); ok {
		e.Name = name.String()
	}
	if v, ok := o.Get("message").(goja.String); ok {
		e.Message = stringValue(v)
	}
	if x := s.realm.isolate.NewException(o); x.Stack != "" {
		e.Stack = x.Stack
	}
	if v := o.Get("cause"); v != nil {
		e.Cause = s.value(v)
	}
	return e
}

func (s *serializer) mapValue(o *goja.Object) v8value.Value {
	out := &v8value.Map{}
	s.seen[o] = out
	var flat []goja.Value
	s.realm.rt.ForOf(s.realm.call(s.realm.intrinsic.mapEntries, o), func(v goja.Value) bool {
		pair := v.(*goja.Object)
		flat = append(flat, pair.Get("0"), pair.Get("1"))
		return true
	})
	for n := 0; n < len(flat); n += 2 {
		out.Entries = append(out.Entries, v8value.Property{Key: s.value(flat[n]), Value: s.value(flat[n+1])})
	}
	return out
}

func (s *serializer) set(o *goja.Object) v8value.Value {
	out := &v8value.Set{}
	s.seen[o] = out
	var flat []goja.Value
	s.realm.rt.ForOf(s.realm.call(s.realm.intrinsic.setValues, o), func(v goja.Value) bool {
		flat = append(flat, v)
		return true
	})
	for _, v := range flat {
		out.Items = append(out.Items, s.value(v))
	}
	return out
}

func (s *serializer) buffer(o *goja.Object) *v8value.ArrayBuffer {
	if known, ok := s.seen[o].(*v8value.ArrayBuffer); ok {
		return known
	}
	b := o.Export().(goja.ArrayBuffer)
	if b.Detached() {
		s.fail("An ArrayBuffer is detached and could not be cloned.")
	}
	out := &v8value.ArrayBuffer{Bytes: append([]byte{}, b.Bytes()...)}
	s.seen[o] = out
	return out
}

func (s *serializer) view(o *goja.Object) v8value.Value {
	buffer, offset, length, ok := s.realm.viewOf(o)
	if !ok {
		s.fail("An ArrayBuffer is detached and could not be cloned.")
	}
	out := &v8value.View{
		Kind: viewKinds()[s.realm.tagOf(o)], Offset: uint32(offset), Bytes: uint32(length),
		Buffer: s.buffer(s.realm.rt.ToValue(buffer).(*goja.Object)),
	}
	if out.Kind == 0 {
		s.unsupported(o)
	}
	return s.keep(o, out)
}

func viewKinds() map[string]byte {
	return map[string]byte{
		"Int8Array": v8value.ViewInt8, "Uint8Array": v8value.ViewUint8, "Uint8ClampedArray": v8value.ViewUint8Clamped,
		"Int16Array": v8value.ViewInt16, "Uint16Array": v8value.ViewUint16, "Int32Array": v8value.ViewInt32,
		"Uint32Array": v8value.ViewUint32, "Float32Array": v8value.ViewFloat32, "Float64Array": v8value.ViewFloat64,
		"BigInt64Array": v8value.ViewBigInt64, "BigUint64Array": v8value.ViewBigUint64, "DataView": v8value.ViewData,
	}
}

// regExpLetters are the flags in the order of V8's bits.
const regExpLetters = "gimyusd"

func regExpFlags(text string) uint32 {
	var bits uint32
	for _, c := range text {
		if n := strings.IndexRune(regExpLetters, c); n >= 0 {
			bits |= 1 << n
		}
	}
	return bits
}
