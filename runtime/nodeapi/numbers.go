package nodeapi

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// number is one kind that a buffer reads and writes; size 0 takes it from the caller.
type number struct {
	name   string
	size   int
	signed bool
	big    bool
	kind   byte // 'i' a number, 'b' a BigInt, 'f' a float
}

// numbers are all kinds. Each has a method read… and one write….
func numbers() []number {
	out := []number{{name: "UInt8", size: 1, kind: 'i'}, {name: "Int8", size: 1, signed: true, kind: 'i'}}
	for _, big := range []bool{false, true} {
		end := "LE"
		if big {
			end = "BE"
		}
		out = append(out,
			number{name: "UInt16" + end, size: 2, big: big, kind: 'i'},
			number{name: "Int16" + end, size: 2, big: big, signed: true, kind: 'i'},
			number{name: "UInt32" + end, size: 4, big: big, kind: 'i'},
			number{name: "Int32" + end, size: 4, big: big, signed: true, kind: 'i'},
			number{name: "UInt" + end, big: big, kind: 'i'},
			number{name: "Int" + end, big: big, signed: true, kind: 'i'},
			number{name: "BigUInt64" + end, size: 8, big: big, kind: 'b'},
			number{name: "BigInt64" + end, size: 8, big: big, signed: true, kind: 'b'},
			number{name: "Float" + end, size: 4, big: big, kind: 'f'},
			number{name: "Double" + end, size: 8, big: big, kind: 'f'})
	}
	return out
}

// installNumbers defines the methods on a prototype.
func (n *node) installNumbers(c goja.FunctionCall) goja.Value {
	proto := c.Argument(0).(*goja.Object)
	for _, k := range numbers() {
		read := n.isolate.Function("read"+k.name, 1, func(c goja.FunctionCall) goja.Value { return n.readNumber(k, c) })
		write := n.isolate.Function("write"+k.name, 2, func(c goja.FunctionCall) goja.Value { return n.writeNumber(k, c) })
		for name, f := range map[string]*goja.Object{"read": read, "write": write} {
			_ = proto.Set(name+k.name, f)
			if strings.Contains(k.name, "UInt") {
				_ = proto.Set(name+strings.Replace(k.name, "UInt", "Uint", 1), f)
			}
		}
	}
	return goja.Undefined()
}

// place returns the bytes that a number has, or throws Node's errors. at is the offset's parameter.
func (n *node) place(k number, c goja.FunctionCall, at int) []byte {
	b := n.mustBytes(c.This)
	size := k.size
	if size == 0 {
		v := c.Argument(at + 1)
		n.requireNumber("byteLength", v)
		if f := v.ToFloat(); f != math.Trunc(f) || f < 1 || f > 6 {
			n.throwRange("byteLength", ">= 1 and <= 6", v, f != math.Trunc(f))
		}
		size = int(v.ToInteger())
	}
	v := c.Argument(at)
	if goja.IsUndefined(v) && k.size != 0 {
		v = n.rt.ToValue(0)
	}
	n.requireNumber("offset", v)
	f := v.ToFloat()
	limit := len(b) - size
	switch {
	case f != math.Trunc(f):
		n.throwRange("offset", "", v, true)
	case limit < 0:
		n.throwCode("RangeError", "ERR_BUFFER_OUT_OF_BOUNDS", "Attempt to access memory outside buffer bounds")
	case f < 0 || f > float64(limit):
		n.throwRange("offset", ">= 0 and <= "+strconv.Itoa(limit), v, false)
	}
	return b[int(f) : int(f)+size]
}

func (n *node) requireNumber(name string, v goja.Value) {
	if !goja.IsNumber(v) {
		f, _ := goja.AssertFunction(n.load("errors").Get("invalidArgType"))
		n.call(f, n.rt.ToValue(name), n.rt.ToValue("number"), v)
	}
}

func (n *node) throwRange(name, bounds string, v goja.Value, fraction bool) {
	if fraction {
		bounds = "an integer"
	}
	n.throwCode("RangeError", "ERR_OUT_OF_RANGE", "The value of %q is out of range. It must be %s. Received %s", name, bounds,
		grouped(v))
}

// grouped words a number as Node's range errors do: with underscores when it is large.
func grouped(v goja.Value) string {
	text := v.String()
	suffix := ""
	if goja.IsBigInt(v) {
		suffix = "n"
	} else if f := v.ToFloat(); f != math.Trunc(f) || math.Abs(f) <= 1<<32 || math.IsInf(f, 0) {
		return text
	}
	if goja.IsBigInt(v) && len(text) <= 10 {
		return text + suffix
	}
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	var parts []string
	for len(text) > 3 {
		parts = append([]string{text[len(text)-3:]}, parts...)
		text = text[:len(text)-3]
	}
	return sign + strings.Join(append([]string{text}, parts...), "_") + suffix
}

// load64 reads bytes as one number without sign.
func load64(b []byte, bigEndian bool) uint64 {
	var u uint64
	for k := range b {
		if bigEndian {
			u = u<<8 | uint64(b[k])
		} else {
			u |= uint64(b[k]) << (8 * k)
		}
	}
	return u
}

func store64(b []byte, u uint64, bigEndian bool) {
	for k := range b {
		if bigEndian {
			b[len(b)-1-k] = byte(u >> (8 * k))
		} else {
			b[k] = byte(u >> (8 * k))
		}
	}
}

func (n *node) readNumber(k number, c goja.FunctionCall) goja.Value {
	b := n.place(k, c, 0)
	u := load64(b, k.big)
	switch {
	case k.kind == 'f' && k.size == 4:
		return n.rt.ToValue(float64(math.Float32frombits(uint32(u))))
	case k.kind == 'f':
		return n.rt.ToValue(math.Float64frombits(u))
	case k.kind == 'b' && k.signed:
		return n.rt.ToValue(big.NewInt(int64(u)))
	case k.kind == 'b':
		return n.rt.ToValue(new(big.Int).SetUint64(u))
	case k.signed:
		shift := 64 - 8*len(b)
		return n.rt.ToValue(int64(u<<shift) >> shift)
	}
	return n.rt.ToValue(int64(u))
}

func (n *node) writeNumber(k number, c goja.FunctionCall) goja.Value {
	v := c.Argument(0)
	if k.kind == 'b' {
		return n.writeBig(k, c)
	}
	f := v.ToFloat()
	if k.kind == 'f' {
		b := n.place(k, c, 1)
		if k.size == 4 {
			store64(b, uint64(math.Float32bits(float32(f))), k.big)
		} else {
			store64(b, math.Float64bits(f), k.big)
		}
		return n.after(c, len(b))
	}
	b := n.place(k, c, 1)
	bits := 8 * len(b)
	low, high := 0.0, math.Pow(2, float64(bits))-1
	if k.signed {
		low, high = -math.Pow(2, float64(bits-1)), math.Pow(2, float64(bits-1))-1
	}
	if f < low || f > high {
		n.throwRange("value", intBounds(k, bits, low, high), v, false)
	}
	if math.IsNaN(f) {
		f = 0
	}
	store64(b, uint64(int64(f)), k.big)
	return n.after(c, len(b))
}

// intBounds words what a number may be, as Node does: by powers where it is long.
func intBounds(k number, bits int, low, high float64) string {
	if bits <= 32 && k.size != 0 || bits <= 24 {
		return ">= " + strconv.FormatFloat(low, 'f', -1, 64) + " and <= " + strconv.FormatFloat(high, 'f', -1, 64)
	}
	if k.signed {
		return ">= -(2 ** " + strconv.Itoa(bits-1) + ") and < 2 ** " + strconv.Itoa(bits-1)
	}
	return ">= 0 and < 2 ** " + strconv.Itoa(bits)
}

func (n *node) writeBig(k number, c goja.FunctionCall) goja.Value {
	v := c.Argument(0)
	value, ok := v.Export().(*big.Int)
	if !ok {
		n.isolate.Throw("TypeError", "Cannot mix BigInt and other types, use explicit conversions")
	}
	if k.signed && !value.IsInt64() || !k.signed && !value.IsUint64() {
		bounds := ">= 0n and < 2n ** 64n"
		if k.signed {
			bounds = ">= -(2n ** 63n) and < 2n ** 63n"
		}
		n.throwRange("value", bounds, v, false)
	}
	b := n.place(k, c, 1)
	u := value.Uint64()
	if k.signed {
		u = uint64(value.Int64())
	}
	store64(b, u, k.big)
	return n.after(c, len(b))
}

// after is the offset behind what was written.
func (n *node) after(c goja.FunctionCall, size int) goja.Value {
	if goja.IsUndefined(c.Argument(1)) {
		return n.rt.ToValue(size)
	}
	return n.rt.ToValue(c.Argument(1).ToInteger() + int64(size))
}
