package env

import (
	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// direction is which way a value crosses.
type direction int

const (
	// sending is of arguments: what the caller has of stubs stays its own.
	sending direction = iota
	// returning is of results: stubs pass to the caller.
	returning
)

// encoding is a value on its way to another script.
type encoding struct {
	classes   *Classes
	direction direction
	stubs     []sidecar.Stub
}

// encode serializes for a call what serialize takes apart. It throws a DataCloneError at what cannot be.
func (c *Classes) encode(serialize func(webapi.SerializeOptions) v8value.Value, d direction) sidecar.Value {
	e := &encoding{classes: c, direction: d}
	done := false
	defer func() {
		if !done {
			sidecar.Value{Stubs: e.stubs}.Drop()
		}
	}()
	b := encode(c.realm, serialize(webapi.SerializeOptions{PlainOnly: true, Host: e.host}), ForCall)
	done = true
	return sidecar.Value{Bytes: b, Stubs: e.stubs}
}

// host takes what is no value of the language.
func (e *encoding) host(o *goja.Object) (v8value.Value, bool) {
	c := e.classes
	if n := c.nodeOf(o); n != nil {
		return e.stub(n)
	}
	if c.isExportable(o) {
		return e.add(c.export(c.realm.Isolate().RequireEvent(), o, e.direction == returning)), true
	}
	return c.realm.Pack(o, e)
}

// add adds a stub to the value, and returns what it is there.
func (e *encoding) add(s sidecar.Stub) v8value.Value {
	return &v8value.Host{Kind: sidecar.HostStub, Value: e.index(s)}
}

// index adds a stub to the value, and returns its index.
func (e *encoding) index(s sidecar.Stub) v8value.Value {
	if len(e.stubs) >= sidecar.MaxStubs {
		s.Drop()
		e.classes.realm.Isolate().Throw("Error", "A value may have at most %d stubs.", sidecar.MaxStubs)
	}
	e.stubs = append(e.stubs, s)
	return float64(len(e.stubs) - 1)
}

// stub passes a stub on.
func (e *encoding) stub(n *node) (v8value.Value, bool) {
	c := e.classes
	switch {
	case n.call != nil:
		c.unsupported("RpcPromise")
	case len(n.path) > 0:
		c.unsupported("RpcProperty")
	case n.stub.held == nil:
		return describe(n.stub.callee)
	}
	c.usable(n)
	if e.direction == sending && c.stubs.dupParams {
		s, err := n.stub.held.dup()
		if err != nil {
			panic(ErrorValue(c.realm, err))
		}
		return e.add(s), true
	}
	s := n.stub.held.take()
	if s == nil { // the end of the context has dropped it
		panic(ErrorValue(c.realm, errDisposed()))
	}
	return e.add(s), true
}

func (c *Classes) unsupported(class string) {
	panic(c.realm.NewDOMException("DataCloneError",
		"Could not serialize object of type \""+class+"\". This type does not support serialization."))
}

// decoding is a value that has come from another script. Its stubs are references of this one's.
type decoding struct {
	classes *Classes
	value   sidecar.Value
	// source is what the value came from: calls of its stubs line up with those of it.
	source *stub
	// parts are the references that the value has, and stubs what the script has of them.
	parts []*held
	stubs []*stub
}

// decode makes the value. References that nothing in it leads to are dropped.
func (d *decoding) decode() (goja.Value, error) {
	v, err := d.tree()
	used := map[*held]bool{}
	for _, h := range d.parts {
		used[h] = true
	}
	for _, s := range d.value.Stubs {
		if h, ok := s.(*held); ok && (err != nil || !used[h]) {
			h.drop()
		}
	}
	return v, err
}

func (d *decoding) tree() (v goja.Value, err error) {
	if len(d.value.Bytes) == 0 {
		return goja.Undefined(), nil
	}
	tree, err := v8value.Decode(d.value.Bytes)
	if err != nil {
		return nil, &sidecar.Error{Name: "Error", Message: "value cannot be deserialized", Cause: err}
	}
	r := d.classes.realm
	thrown := r.Isolate().Runtime().Try(func() {
		v = r.Deserialize(tree, webapi.DeserializeOptions{Host: d.host})
	})
	if thrown != nil {
		return nil, thrown
	}
	return v, nil
}

// host makes what is no value of the language.
func (d *decoding) host(v v8value.Value) (goja.Value, bool) {
	h, ok := v.(*v8value.Host)
	if !ok {
		return nil, false
	}
	switch h.Kind {
	case sidecar.HostStub:
		s := d.reference(h.Value)
		if s == nil {
			return nil, false
		}
		made := &stub{invoker: s, held: s, order: d.source.line(), source: d.source.through()}
		d.stubs = append(d.stubs, made)
		return d.classes.stubProxy(made), true
	case sidecar.HostService:
		s := d.classes.serviceOf(h.Value)
		if s == nil {
			return nil, false
		}
		return d.classes.service(s), true
	}
	return d.classes.realm.Unpack(h, d)
}

// reference returns the reference that an index names, and has the script own it; nil when there is none.
func (d *decoding) reference(index v8value.Value) *held {
	h := d.at(index)
	if h != nil {
		d.parts = append(d.parts, h)
	}
	return h
}

// at returns the reference that an index names, or nil.
func (d *decoding) at(index v8value.Value) *held {
	n, ok := d.value.Index(index)
	if !ok {
		return nil
	}
	h, _ := d.value.Stubs[n].(*held)
	return h
}
