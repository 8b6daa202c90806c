package v8value

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"
)

// Decode reads one value that fills data. Errors wrap ErrFormat, or ErrUnsupported for what only an engine could make
// (shared memory, host objects other than errors).
func Decode(data []byte) (Value, error) {
	d := &decoder{data: data, version: 13}
	if len(data) >= 2 && data[0] == tagVersion {
		d.pos = 1
		v, err := d.uvarint32()
		if err != nil {
			return nil, err
		}
		if v < 13 || v > Version {
			return nil, fmt.Errorf("%w: version %d, this reads 13 to %d", ErrFormat, v, Version)
		}
		d.version = v
	}
	v, err := d.value()
	if err != nil {
		return nil, fmt.Errorf("offset %d: %w", d.pos, err)
	}
	if d.pos != len(data) {
		return nil, fmt.Errorf("%w: %d bytes after the value", ErrFormat, len(data)-d.pos)
	}
	return v, nil
}

// decoder reads values from data; objects holds those that were begun, by id.
type decoder struct {
	data    []byte
	pos     int
	version uint32
	objects []Value
	depth   int
}

func (d *decoder) fail(what string) error { return fmt.Errorf("%w: %s", ErrFormat, what) }

func (d *decoder) byte() (byte, error) {
	if d.pos >= len(d.data) {
		return 0, d.fail("it ends early")
	}
	b := d.data[d.pos]
	d.pos++
	return b, nil
}

// tag returns the next tag, past padding, and leaves it unread if peek is set.
func (d *decoder) tag() (byte, error) {
	for {
		b, err := d.byte()
		if err != nil || b != tagPadding {
			return b, err
		}
	}
}

// peek returns the next tag without reading it, or 0 at the end.
func (d *decoder) peek() byte {
	for i := d.pos; i < len(d.data); i++ {
		if d.data[i] != tagPadding {
			return d.data[i]
		}
	}
	return 0
}

func (d *decoder) uvarint32() (uint32, error) {
	v, n := binary.Uvarint(d.data[d.pos:])
	if n <= 0 || v > math.MaxUint32 {
		return 0, d.fail("bad integer")
	}
	d.pos += n
	return uint32(v), nil
}

func (d *decoder) bytes(n uint32) ([]byte, error) {
	if uint64(n) > uint64(len(d.data)-d.pos) {
		return nil, d.fail("a length goes beyond the end")
	}
	b := d.data[d.pos : d.pos+int(n)]
	d.pos += int(n)
	return b, nil
}

func (d *decoder) double() (float64, error) {
	b, err := d.bytes(8)
	if err != nil {
		return 0, err
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
}

// begin records an object that has an id from here on, so that its own parts can refer to it.
func (d *decoder) begin(v Value) { d.objects = append(d.objects, v) }

func (d *decoder) value() (Value, error) {
	if d.depth++; d.depth > maxDepth {
		return nil, d.fail(fmt.Sprintf("nested deeper than %d", maxDepth))
	}
	defer func() { d.depth-- }()
	tag, err := d.tag()
	if err != nil {
		return nil, err
	}
	v, err := d.tagged(tag)
	if err != nil {
		return nil, err
	}
	if b, ok := v.(*ArrayBuffer); ok && d.peek() == tagView { // a view consumes the buffer before it
		d.tag() //nolint:errcheck // peek saw it
		return d.view(b)
	}
	return v, nil
}

func (d *decoder) tagged(tag byte) (Value, error) {
	switch tag {
	case tagUndefined:
		return Undefined{}, nil
	case tagNull:
		return nil, nil
	case tagTrue:
		return true, nil
	case tagFalse:
		return false, nil
	case tagInt32:
		u, err := d.uvarint32()
		return float64(int32(u>>1) ^ -int32(u&1)), err
	case tagUint32:
		u, err := d.uvarint32()
		return float64(u), err
	case tagDouble:
		return d.double()
	case tagBigInt:
		return d.bigInt()
	case tagUTF8String, tagOneByteString, tagTwoByteString:
		return d.string(tag)
	case tagReference:
		id, err := d.uvarint32()
		if err != nil {
			return nil, err
		}
		if int(id) >= len(d.objects) {
			return nil, d.fail("a reference to an object that is not there")
		}
		return d.objects[id], nil
	}
	return d.object(tag)
}

func (d *decoder) object(tag byte) (Value, error) {
	switch tag {
	case tagObject:
		o := &Object{}
		d.begin(o)
		var err error
		o.Properties, err = d.properties(tagEndObject)
		return o, err
	case tagDenseArray, tagSparseArray:
		return d.array(tag)
	case tagDate:
		f, err := d.double()
		d.begin(Date(f))
		return Date(f), err
	case tagTrueObject, tagFalseObject, tagNumberObject, tagBigIntObject, tagStringObject:
		return d.boxed(tag)
	case tagRegExp:
		return d.regExp()
	case tagMap:
		return d.mapValue()
	case tagSet:
		return d.set()
	case tagArrayBuffer, tagResizable:
		return d.arrayBuffer(tag)
	case tagError:
		return d.error()
	case tagHostObject:
		return d.hostObject()
	case 'u', 't', 'w', 'm', 'p':
		return nil, fmt.Errorf("%w: shared memory or WebAssembly (tag %q)", ErrUnsupported, tag)
	}
	return nil, d.fail(fmt.Sprintf("unknown tag 0x%02x", tag))
}

func (d *decoder) bigInt() (*big.Int, error) {
	field, err := d.uvarint32()
	if err != nil {
		return nil, err
	}
	raw, err := d.bytes(field >> 1)
	if err != nil {
		return nil, err
	}
	be := make([]byte, len(raw))
	for i, b := range raw {
		be[len(raw)-1-i] = b
	}
	n := new(big.Int).SetBytes(be)
	if field&1 != 0 {
		n.Neg(n)
	}
	return n, nil
}

func (d *decoder) string(tag byte) (Value, error) {
	n, err := d.uvarint32()
	if err != nil {
		return nil, err
	}
	raw, err := d.bytes(n)
	if err != nil {
		return nil, err
	}
	switch tag {
	case tagUTF8String:
		if !utf8.Valid(raw) {
			return nil, d.fail("a string is not UTF-8")
		}
		return string(raw), nil
	case tagOneByteString:
		return latin1(raw), nil
	}
	if n%2 != 0 {
		return nil, d.fail("a two-byte string of odd size")
	}
	u := make([]uint16, n/2)
	for i := range u {
		u[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return decodeUTF16(u), nil
}

func latin1(raw []byte) string {
	high := 0
	for _, b := range raw {
		high += int(b >> 7)
	}
	if high == 0 {
		return string(raw)
	}
	out := make([]byte, 0, len(raw)+high)
	for _, b := range raw {
		out = utf8.AppendRune(out, rune(b))
	}
	return string(out)
}

// pairs reads keys and values up to the end tag, whose count must be per entry times their number.
func (d *decoder) pairs(end byte, per uint32) ([]Property, error) {
	var list []Property
	for d.peek() != end {
		k, err := d.value()
		if err != nil {
			return nil, err
		}
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		list = append(list, Property{k, v})
	}
	d.tag() //nolint:errcheck // peek saw it
	n, err := d.uvarint32()
	if err != nil {
		return nil, err
	}
	if uint64(n) != uint64(len(list))*uint64(per) {
		return nil, d.fail("a count does not match")
	}
	return list, nil
}

func (d *decoder) properties(end byte) ([]Property, error) {
	list, err := d.pairs(end, 1)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		switch p.Key.(type) {
		case string, UTF16, float64:
		default:
			return nil, d.fail("a property key that is neither string nor number")
		}
	}
	return list, nil
}

func (d *decoder) array(tag byte) (Value, error) {
	a := &Array{}
	d.begin(a)
	var err error
	if a.Length, err = d.uvarint32(); err != nil {
		return nil, err
	}
	end := byte(tagEndSparse)
	if tag == tagDenseArray {
		end = tagEndDense
		if a.Items, err = d.items(a.Length); err != nil {
			return nil, err
		}
	}
	if a.Properties, err = d.properties(end); err != nil {
		return nil, err
	}
	n, err := d.uvarint32()
	if err != nil {
		return nil, err
	}
	if n != a.Length {
		return nil, d.fail("an array's lengths do not match")
	}
	return a, nil
}

func (d *decoder) items(n uint32) ([]Value, error) {
	if uint64(n) > uint64(len(d.data)-d.pos) { // each item takes at least a byte
		return nil, d.fail("an array goes beyond the end")
	}
	items := make([]Value, 0, min(n, 1024))
	for range n {
		if d.peek() == tagHole {
			d.tag() //nolint:errcheck // peek saw it
			items = append(items, Hole{})
			continue
		}
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	return items, nil
}

func (d *decoder) boxed(tag byte) (Value, error) {
	b := &Boxed{}
	d.begin(b)
	var err error
	switch tag {
	case tagTrueObject:
		b.Value = true
	case tagFalseObject:
		b.Value = false
	case tagNumberObject:
		b.Value, err = d.double()
	case tagBigIntObject:
		b.Value, err = d.bigInt()
	default:
		b.Value, err = d.text()
	}
	return b, err
}

// text reads a value that must be a string.
func (d *decoder) text() (Value, error) {
	v, err := d.value()
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case string, UTF16:
		return v, nil
	}
	return nil, d.fail("a string is missing")
}

func (d *decoder) regExp() (Value, error) {
	r := &RegExp{}
	d.begin(r)
	var err error
	if r.Source, err = d.text(); err != nil {
		return nil, err
	}
	r.Flags, err = d.uvarint32()
	return r, err
}

func (d *decoder) mapValue() (Value, error) {
	m := &Map{}
	d.begin(m)
	var err error
	m.Entries, err = d.pairs(tagEndMap, 2)
	return m, err
}

func (d *decoder) set() (Value, error) {
	s := &Set{}
	d.begin(s)
	for d.peek() != tagEndSet {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		s.Items = append(s.Items, v)
	}
	d.tag() //nolint:errcheck // peek saw it
	n, err := d.uvarint32()
	if err == nil && uint64(n) != uint64(len(s.Items)) {
		err = d.fail("a count does not match")
	}
	return s, err
}

func (d *decoder) arrayBuffer(tag byte) (Value, error) {
	b := &ArrayBuffer{Resizable: tag == tagResizable}
	d.begin(b)
	n, err := d.uvarint32()
	if err != nil {
		return nil, err
	}
	if b.Resizable {
		if b.MaxBytes, err = d.uvarint32(); err != nil {
			return nil, err
		}
		if b.MaxBytes < n {
			return nil, d.fail("a buffer larger than its maximum")
		}
	}
	raw, err := d.bytes(n)
	b.Bytes = append([]byte(nil), raw...)
	return b, err
}

func (d *decoder) view(b *ArrayBuffer) (Value, error) {
	v := &View{Buffer: b}
	d.begin(v)
	var err error
	if v.Kind, err = d.byte(); err != nil {
		return nil, err
	}
	if v.Offset, err = d.uvarint32(); err != nil {
		return nil, err
	}
	if v.Bytes, err = d.uvarint32(); err != nil {
		return nil, err
	}
	if d.version >= 14 {
		if v.Flags, err = d.uvarint32(); err != nil {
			return nil, err
		}
	}
	size := elementBytes(v.Kind)
	if size == 0 || v.Offset%size != 0 || v.Bytes%size != 0 ||
		uint64(v.Offset)+uint64(v.Bytes) > uint64(len(b.Bytes)) {
		return nil, d.fail("a view does not fit its buffer")
	}
	return v, nil
}

// elementBytes returns the size of a view's element, or 0 for an unknown kind.
func elementBytes(kind byte) uint32 {
	switch kind {
	case ViewInt8, ViewUint8, ViewUint8Clamped, ViewData:
		return 1
	case ViewInt16, ViewUint16, ViewFloat16:
		return 2
	case ViewInt32, ViewUint32, ViewFloat32:
		return 4
	case ViewFloat64, ViewBigInt64, ViewBigUint64:
		return 8
	}
	return 0
}

func (d *decoder) error() (Value, error) {
	e := &Error{Name: "Error", Message: Undefined{}, Stack: Undefined{}, Cause: Undefined{}}
	d.begin(e)
	for {
		tag, err := d.byte()
		if err != nil {
			return nil, err
		}
		if name, ok := errorClass(tag); ok {
			e.Name = name
			continue
		}
		switch tag {
		case 'm':
			e.Message, err = d.text()
		case 's':
			e.Stack, err = d.text()
		case 'c':
			e.Cause, err = d.value()
		case '.':
			return e, nil
		default:
			err = d.fail("unknown part of an error")
		}
		if err != nil {
			return nil, err
		}
	}
}
