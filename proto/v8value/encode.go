package v8value

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"unicode/utf8"
)

// Encode serializes a value. Errors wrap ErrUnsupported.
func Encode(v Value) ([]byte, error) {
	e := newEncoder()
	if err := e.value(v); err != nil {
		return nil, err
	}
	return e.buf, nil
}

// encoder appends values to buf; seen gives the id of each object that has been written.
type encoder struct {
	buf   []byte
	seen  map[any]uint32
	next  uint32
	depth int
}

func newEncoder() *encoder {
	return &encoder{buf: append(make([]byte, 0, 64), tagVersion, Version)}
}

func (e *encoder) value(v Value) error {
	switch v := v.(type) {
	case nil:
		e.buf = append(e.buf, tagNull)
	case Undefined:
		e.buf = append(e.buf, tagUndefined)
	case bool:
		e.bool(v)
	case float64:
		e.number(v)
	case *big.Int:
		e.buf = append(e.buf, tagBigInt)
		return e.bigInt(v)
	case string:
		e.string(v)
	case UTF16:
		e.twoByte(v)
	case Date, *Object, *Array, *Map, *Set, *RegExp, *Boxed, *ArrayBuffer, *View, *Error, *Host:
		return e.object(v)
	default:
		return fmt.Errorf("%w: %T", ErrUnsupported, v)
	}
	return nil
}

func (e *encoder) bool(v bool) {
	if v {
		e.buf = append(e.buf, tagTrue)
	} else {
		e.buf = append(e.buf, tagFalse)
	}
}

// number writes an integer of 32 bits as V8 writes a small integer, anything else as a double.
func (e *encoder) number(f float64) {
	const limit = 1 << 31
	if i := int32(f); f >= -limit && f < limit && float64(i) == f && (i != 0 || !math.Signbit(f)) {
		e.buf = append(e.buf, tagInt32)
		e.buf = binary.AppendUvarint(e.buf, uint64(uint32(i<<1)^uint32(i>>31)))
		return
	}
	e.buf = append(e.buf, tagDouble)
	e.double(f)
}

func (e *encoder) double(f float64) {
	e.buf = binary.LittleEndian.AppendUint64(e.buf, math.Float64bits(f))
}

// bigInt writes sign and digits: a bit field of the length in bytes and the sign, then whole 64-bit digits.
func (e *encoder) bigInt(n *big.Int) error {
	if n == nil {
		return fmt.Errorf("%w: nil *big.Int", ErrUnsupported)
	}
	words := (n.BitLen() + 63) / 64
	field := uint64(words*8) << 1
	if n.Sign() < 0 {
		field |= 1
	}
	e.buf = binary.AppendUvarint(e.buf, field)
	digits := n.FillBytes(make([]byte, words*8))
	for i := len(digits) - 1; i >= 0; i-- {
		e.buf = append(e.buf, digits[i])
	}
	return nil
}

// string writes Latin-1 text in one byte a character and all other text as UTF-16. Invalid UTF-8 becomes U+FFFD.
func (e *encoder) string(s string) {
	n, latin := 0, true
	for _, r := range s {
		if r > 0xff {
			latin = false
			break
		}
		n++
	}
	if !latin {
		e.twoByte(encodeUTF16(s))
		return
	}
	e.buf = append(e.buf, tagOneByteString)
	e.buf = binary.AppendUvarint(e.buf, uint64(n))
	if n == len(s) {
		e.buf = append(e.buf, s...)
		return
	}
	for _, r := range s {
		e.buf = append(e.buf, byte(r))
	}
}

// twoByte aligns the characters to an even offset, as V8 does.
func (e *encoder) twoByte(u []uint16) {
	size := uint64(len(u) * 2)
	if (len(e.buf)+1+uvarintLen(size))%2 != 0 {
		e.buf = append(e.buf, tagPadding)
	}
	e.buf = append(e.buf, tagTwoByteString)
	e.buf = binary.AppendUvarint(e.buf, size)
	for _, c := range u {
		e.buf = binary.LittleEndian.AppendUint16(e.buf, c)
	}
}

func uvarintLen(v uint64) int { return max(1, (bits.Len64(v)+6)/7) }

// object writes a reference when v was written before, else v itself under the next id.
func (e *encoder) object(v Value) error {
	if view, ok := v.(*View); ok && view != nil && view.Buffer != nil {
		if _, ok := e.seen[v]; !ok {
			if err := e.object(view.Buffer); err != nil { // the buffer comes first and has the lower id
				return err
			}
		}
	}
	if id, ok := e.seen[v]; ok {
		e.buf = append(e.buf, tagReference)
		e.buf = binary.AppendUvarint(e.buf, uint64(id))
		return nil
	}
	if e.depth++; e.depth > maxDepth {
		return fmt.Errorf("%w: nested deeper than %d", ErrUnsupported, maxDepth)
	}
	defer func() { e.depth-- }()
	if d, ok := v.(Date); ok { // a value type: each occurrence is an object of its own
		e.next++
		e.buf = append(e.buf, tagDate)
		e.double(float64(d))
		return nil
	}
	if e.seen == nil {
		e.seen = make(map[any]uint32)
	}
	e.seen[v] = e.next
	e.next++
	return e.body(v)
}

func (e *encoder) body(v Value) error {
	switch v := v.(type) {
	case *Object:
		e.buf = append(e.buf, tagObject)
		return e.properties(v.Properties, tagEndObject)
	case *Array:
		return e.array(v)
	case *Map:
		e.buf = append(e.buf, tagMap)
		for _, p := range v.Entries {
			if err := e.pair(p); err != nil {
				return err
			}
		}
		e.end(tagEndMap, uint64(2*len(v.Entries)))
		return nil
	case *Set:
		e.buf = append(e.buf, tagSet)
		for _, item := range v.Items {
			if err := e.value(item); err != nil {
				return err
			}
		}
		e.end(tagEndSet, uint64(len(v.Items)))
		return nil
	case *RegExp:
		e.buf = append(e.buf, tagRegExp)
		if err := e.value(v.Source); err != nil {
			return err
		}
		e.buf = binary.AppendUvarint(e.buf, uint64(v.Flags))
		return nil
	case *Boxed:
		return e.boxed(v)
	case *ArrayBuffer:
		e.arrayBuffer(v)
		return nil
	case *View:
		return e.view(v)
	case *Error:
		return e.error(v)
	case *Host:
		if v.Kind >= MaxHostKind {
			return fmt.Errorf("%w: a platform object of kind %d", ErrUnsupported, v.Kind)
		}
		e.buf = append(e.buf, tagHostObject)
		e.buf = binary.AppendUvarint(e.buf, uint64(firstHostKind+v.Kind))
		return e.value(v.Value)
	}
	return fmt.Errorf("%w: %T", ErrUnsupported, v)
}

func (e *encoder) end(tag byte, count uint64) {
	e.buf = append(e.buf, tag)
	e.buf = binary.AppendUvarint(e.buf, count)
}

func (e *encoder) pair(p Property) error {
	if err := e.value(p.Key); err != nil {
		return err
	}
	return e.value(p.Value)
}

func (e *encoder) properties(list []Property, end byte) error {
	for _, p := range list {
		switch p.Key.(type) {
		case string, UTF16, float64:
		default:
			return fmt.Errorf("%w: property key of type %T", ErrUnsupported, p.Key)
		}
		if err := e.pair(p); err != nil {
			return err
		}
	}
	e.end(end, uint64(len(list)))
	return nil
}

func (e *encoder) array(a *Array) error {
	dense := uint32(len(a.Items)) == a.Length
	end := byte(tagEndDense)
	if dense {
		e.end(tagDenseArray, uint64(a.Length))
		for _, item := range a.Items {
			if _, ok := item.(Hole); ok {
				e.buf = append(e.buf, tagHole)
				continue
			}
			if err := e.value(item); err != nil {
				return err
			}
		}
	} else {
		if len(a.Items) != 0 {
			return fmt.Errorf("%w: array of length %d with %d items", ErrUnsupported, a.Length, len(a.Items))
		}
		e.end(tagSparseArray, uint64(a.Length))
		end = tagEndSparse
	}
	if err := e.properties(a.Properties, end); err != nil {
		return err
	}
	e.buf = binary.AppendUvarint(e.buf, uint64(a.Length))
	return nil
}

func (e *encoder) boxed(b *Boxed) error {
	switch v := b.Value.(type) {
	case bool:
		if v {
			e.buf = append(e.buf, tagTrueObject)
		} else {
			e.buf = append(e.buf, tagFalseObject)
		}
	case float64:
		e.buf = append(e.buf, tagNumberObject)
		e.double(v)
	case *big.Int:
		e.buf = append(e.buf, tagBigIntObject)
		return e.bigInt(v)
	case string, UTF16:
		e.buf = append(e.buf, tagStringObject)
		return e.value(v)
	default:
		return fmt.Errorf("%w: object around a %T", ErrUnsupported, b.Value)
	}
	return nil
}

func (e *encoder) arrayBuffer(b *ArrayBuffer) {
	if b.Resizable {
		e.end(tagResizable, uint64(len(b.Bytes)))
		e.buf = binary.AppendUvarint(e.buf, uint64(b.MaxBytes))
	} else {
		e.end(tagArrayBuffer, uint64(len(b.Bytes)))
	}
	e.buf = append(e.buf, b.Bytes...)
}

func (e *encoder) view(v *View) error {
	if v.Buffer == nil || uint64(v.Offset)+uint64(v.Bytes) > uint64(len(v.Buffer.Bytes)) {
		return fmt.Errorf("%w: view beyond its buffer", ErrUnsupported)
	}
	e.buf = append(e.buf, tagView, v.Kind)
	e.buf = binary.AppendUvarint(e.buf, uint64(v.Offset))
	e.buf = binary.AppendUvarint(e.buf, uint64(v.Bytes))
	e.buf = binary.AppendUvarint(e.buf, uint64(v.Flags))
	return nil
}

func (e *encoder) error(v *Error) error {
	e.buf = append(e.buf, tagError)
	for _, tag := range []byte("ERFSTU") {
		if name, _ := errorClass(tag); name == v.Name {
			e.buf = append(e.buf, tag)
		}
	}
	for _, f := range []struct {
		tag   byte
		value Value
	}{{'m', v.Message}, {'c', v.Cause}, {'s', v.Stack}} {
		if _, absent := f.value.(Undefined); absent {
			continue
		}
		e.buf = append(e.buf, f.tag)
		if err := e.value(f.value); err != nil {
			return err
		}
	}
	e.buf = append(e.buf, '.')
	return nil
}

func encodeUTF16(s string) []uint16 {
	u := make([]uint16, 0, len(s))
	for _, r := range s {
		if r >= 0x10000 {
			r -= 0x10000
			u = append(u, 0xd800+uint16(r>>10), 0xdc00+uint16(r&0x3ff))
		} else {
			u = append(u, uint16(r)) // an invalid byte is utf8.RuneError here
		}
	}
	return u
}

// decodeUTF16 returns a string, or the units themselves when a surrogate stands alone.
func decodeUTF16(u []uint16) Value {
	b := make([]byte, 0, len(u)+len(u)/2)
	for i := 0; i < len(u); i++ {
		r := rune(u[i])
		if r >= 0xd800 && r < 0xe000 {
			if r >= 0xdc00 || i+1 == len(u) || u[i+1] < 0xdc00 || u[i+1] >= 0xe000 {
				return UTF16(u)
			}
			r = 0x10000 + (r-0xd800)<<10 + rune(u[i+1]) - 0xdc00
			i++
		}
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}
