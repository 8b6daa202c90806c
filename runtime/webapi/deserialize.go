package webapi

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/v8value"
)

// DeserializeOptions choose what may be made beside the values of the language.
type DeserializeOptions struct {
	// Host makes what SerializeOptions.Host took apart. It reports false when it knows nothing of it.
	Host func(v v8value.Value) (goja.Value, bool)
}

// Deserialize makes a value of the language of one that was taken apart. It keeps the bytes of buffers.
func (r *Realm) Deserialize(v v8value.Value, o DeserializeOptions) goja.Value {
	d := deserializer{realm: r, options: o, seen: map[any]goja.Value{}}
	return d.value(v)
}

type deserializer struct {
	realm   *Realm
	options DeserializeOptions
	// seen are the objects that were made, by the pointers to what they were made of.
	seen map[any]goja.Value
}

func (d *deserializer) value(v v8value.Value) goja.Value {
	rt := d.realm.rt
	switch v := v.(type) {
	case nil:
		return goja.Null()
	case v8value.Undefined, v8value.Hole:
		return goja.Undefined()
	case bool:
		return rt.ToValue(v)
	case float64:
		return rt.ToValue(v)
	case string:
		return rt.ToValue(v)
	case *big.Int:
		return rt.ToValue(v)
	case v8value.UTF16:
		return goja.StringFromUTF16(v)
	case v8value.Date:
		return d.construct("Date", rt.ToValue(float64(v)))
	}
	if known, ok := d.seen[v]; ok {
		return known
	}
	return d.object(v)
}

func (d *deserializer) object(v v8value.Value) goja.Value {
	r := d.realm
	switch v := v.(type) {
	case *v8value.Object:
		return d.properties(d.keep(v, r.rt.NewObject()), v.Properties)
	case *v8value.Array:
		return d.array(v)
	case *v8value.Map:
		o := d.keep(v, d.construct("Map"))
		for _, e := range v.Entries {
			r.call(r.intrinsic.mapSet, o, d.value(e.Key), d.value(e.Value))
		}
		return o
	case *v8value.Set:
		o := d.keep(v, d.construct("Set"))
		for _, item := range v.Items {
			r.call(r.intrinsic.setAdd, o, d.value(item))
		}
		return o
	case *v8value.RegExp:
		var flags strings.Builder
		for n, c := range regExpLetters {
			if v.Flags&(1<<n) != 0 {
				flags.WriteRune(c)
			}
		}
		return d.keep(v, d.construct("RegExp", d.value(v.Source), r.rt.ToValue(flags.String())))
	case *v8value.Boxed:
		return d.keep(v, d.value(v.Value).ToObject(r.rt))
	case *v8value.ArrayBuffer:
		return d.keep(v, r.rt.ToValue(r.rt.NewArrayBuffer(v.Bytes)).(*goja.Object))
	case *v8value.View:
		return d.view(v)
	case *v8value.Error:
		return d.error(v)
	}
	if d.options.Host != nil {
		if made, ok := d.options.Host(v); ok {
			d.seen[v] = made
			return made
		}
	}
	r.throwDOM("DataCloneError", "Unable to deserialize cloned data.")
	return nil
}

func (d *deserializer) keep(v any, o *goja.Object) *goja.Object {
	d.seen[v] = o
	return o
}

func (d *deserializer) construct(class string, args ...goja.Value) *goja.Object {
	o, err := d.realm.rt.New(d.realm.intrinsic.classes[class], args...)
	if err != nil {
		panic(err)
	}
	return o
}

func (d *deserializer) properties(o *goja.Object, list []v8value.Property) *goja.Object {
	for _, p := range list {
		key := ""
		switch k := p.Key.(type) {
		case string:
			key = k
		case float64:
			key = strconv.FormatFloat(k, 'f', -1, 64)
		default:
			key = d.value(k).String()
		}
		if key == "__proto__" {
			_ = o.DefineDataProperty(key, d.value(p.Value), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
			continue
		}
		_ = o.Set(key, d.value(p.Value))
	}
	return o
}

func (d *deserializer) array(v *v8value.Array) goja.Value {
	o := d.keep(v, d.realm.rt.NewArray())
	for n, item := range v.Items {
		if _, hole := item.(v8value.Hole); !hole {
			_ = o.Set(strconv.Itoa(n), d.value(item))
		}
	}
	d.properties(o, v.Properties)
	_ = o.Set("length", v.Length)
	return o
}

func (d *deserializer) view(v *v8value.View) goja.Value {
	for class, kind := range viewKinds() {
		if kind != v.Kind {
			continue
		}
		length := int(v.Bytes)
		buffer := d.value(v.Buffer)
		args := []goja.Value{buffer, d.realm.rt.ToValue(v.Offset), d.realm.rt.ToValue(length / elementBytes(kind))}
		return d.keep(v, d.construct(class, args...))
	}
	d.realm.throwDOM("DataCloneError", "Unable to deserialize cloned data.")
	return nil
}

func elementBytes(kind byte) int {
	switch kind {
	case v8value.ViewInt16, v8value.ViewUint16:
		return 2
	case v8value.ViewInt32, v8value.ViewUint32, v8value.ViewFloat32:
		return 4
	case v8value.ViewFloat64, v8value.ViewBigInt64, v8value.ViewBigUint64:
		return 8
	}
	return 1
}

func (d *deserializer) error(v *v8value.Error) goja.Value {
	r := d.realm
	class := v.Name
	if _, ok := r.intrinsic.classes[class]; !ok {
		class = "Error"
	}
	var args []goja.Value
	if message := d.value(v.Message); !goja.IsUndefined(message) {
		args = append(args, message)
	}
	o := d.keep(v, d.construct(class, args...))
	define := func(name string, value v8value.Value) {
		if made := d.value(value); !goja.IsUndefined(made) {
			_ = o.DefineDataProperty(name, made, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		}
	}
	define("stack", v.Stack)
	define("cause", v.Cause)
	return o
}
