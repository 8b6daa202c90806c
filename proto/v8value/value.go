package v8value

import (
	"errors"
	"slices"
)

// Version is the format version that Encode writes. Decode also reads 13 and 14, and data without a header as 13, as
// workerd does.
const Version = 15

// maxDepth bounds the nesting of values, in both directions.
const maxDepth = 2000

var (
	// ErrFormat is wrapped by every error of Decode and Unmarshal that is about the bytes.
	ErrFormat = errors.New("not a serialized value")
	// ErrUnsupported is wrapped by errors about a value that the format, or this package, cannot express.
	ErrUnsupported = errors.New("value cannot be serialized")
)

// Value is one of: nil (null), Undefined, bool, float64, *big.Int, string, UTF16, Date, and pointers to the types
// below, none of them nil. A pointer that occurs twice is one object that is referred to twice.
type Value any

// Undefined is JavaScript's undefined.
type Undefined struct{}

// UTF16 is a string with a lone surrogate, which no Go string can hold.
type UTF16 []uint16

// Date is a Date by its time value: milliseconds since 1970 in UTC, or NaN.
type Date float64

// Property is a key with its value.
type Property struct {
	// Key is a string, or a float64 for an array index.
	Key Value
	// Value is what it is set to.
	Value Value
}

// Object is a plain object, in the order of its properties.
type Object struct{ Properties []Property }

// Get returns the property with this name, or Undefined.
func (o *Object) Get(name string) Value {
	for _, p := range o.Properties {
		if p.Key == name {
			return p.Value
		}
	}
	return Undefined{}
}

// Has reports whether there is a property with this name.
func (o *Object) Has(name string) bool {
	return slices.ContainsFunc(o.Properties, func(p Property) bool { return p.Key == name })
}

// Hole is an element that a dense array lacks.
type Hole struct{}

// Array is an array: dense when Items has Length entries, else sparse with its elements among Properties.
type Array struct {
	Length     uint32
	Items      []Value
	Properties []Property
}

// Map is a Map in insertion order.
type Map struct{ Entries []Property }

// Set is a Set in insertion order.
type Set struct{ Items []Value }

// RegExp is a regular expression: its source and V8's flag bits.
type RegExp struct {
	Source Value
	Flags  uint32
}

// Boxed is an object around a bool, float64, *big.Int, string or UTF16.
type Boxed struct{ Value Value }

// ArrayBuffer is a buffer; MaxBytes is set when it is resizable.
type ArrayBuffer struct {
	Bytes     []byte
	Resizable bool
	MaxBytes  uint32
}

// View is a typed array or DataView on a buffer.
type View struct {
	// Kind is one of the View constants.
	Kind   byte
	Buffer *ArrayBuffer
	// Offset and Bytes choose the part of the buffer.
	Offset, Bytes uint32
	// Flags are V8's: 1 tracks the length, 2 is backed by a resizable buffer.
	Flags uint32
}

// The kinds of views.
const (
	ViewInt8         byte = 'b'
	ViewUint8        byte = 'B'
	ViewUint8Clamped byte = 'C'
	ViewInt16        byte = 'w'
	ViewUint16       byte = 'W'
	ViewInt32        byte = 'd'
	ViewUint32       byte = 'D'
	ViewFloat16      byte = 'h'
	ViewFloat32      byte = 'f'
	ViewFloat64      byte = 'F'
	ViewBigInt64     byte = 'q'
	ViewBigUint64    byte = 'Q'
	ViewData         byte = '?'
)

// Error is an error object.
type Error struct {
	// Name is the class: "Error", or one of the language's own, such as "TypeError". Encode writes any other as "Error".
	Name string
	// Message, Stack and Cause are Undefined when absent.
	Message, Stack, Cause Value
}

// Host is an object of the platform's own, made of a value. V8 leaves such objects to its embedder: of those that workerd
// writes, only errors are known (see Error), and those that Encode writes are known to Decode alone.
type Host struct {
	// Kind says what it is; what kinds there are is the business of those who write and read them. It is less than
	// MaxHostKind.
	Kind  uint32
	Value Value
}

// MaxHostKind bounds the kinds of Host.
const MaxHostKind = 1 << 16

// firstHostKind is the number that stands for kind 0: far from workerd's own numbers.
const firstHostKind = 1 << 20

// errorClass maps one of V8's prototype tags to the name of the class.
func errorClass(tag byte) (string, bool) {
	switch tag {
	case 'E':
		return "EvalError", true
	case 'R':
		return "RangeError", true
	case 'F':
		return "ReferenceError", true
	case 'S':
		return "SyntaxError", true
	case 'T':
		return "TypeError", true
	case 'U':
		return "URIError", true
	}
	return "", false
}

// The tags of the format, as V8's ValueSerializer names them.
const (
	tagVersion       = 0xff
	tagPadding       = 0
	tagHole          = '-'
	tagUndefined     = '_'
	tagNull          = '0'
	tagTrue          = 'T'
	tagFalse         = 'F'
	tagInt32         = 'I'
	tagUint32        = 'U'
	tagDouble        = 'N'
	tagBigInt        = 'Z'
	tagUTF8String    = 'S'
	tagOneByteString = '"'
	tagTwoByteString = 'c'
	tagReference     = '^'
	tagObject        = 'o'
	tagEndObject     = '{'
	tagSparseArray   = 'a'
	tagEndSparse     = '@'
	tagDenseArray    = 'A'
	tagEndDense      = '$'
	tagDate          = 'D'
	tagTrueObject    = 'y'
	tagFalseObject   = 'x'
	tagNumberObject  = 'n'
	tagBigIntObject  = 'z'
	tagStringObject  = 's'
	tagRegExp        = 'R'
	tagMap           = ';'
	tagEndMap        = ':'
	tagSet           = '\''
	tagEndSet        = ','
	tagArrayBuffer   = 'B'
	tagResizable     = '~'
	tagView          = 'V'
	tagError         = 'r'
	tagHostObject    = '\\'
)
