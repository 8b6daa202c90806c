package nodeapi

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"golang.org/x/net/idna"

	"github.com/tandem-do/tandem/runtime/compatibility"
)

// maxInflated bounds what compressed bytes may become.
const maxInflated = 128 << 20

// otherFunctions are what the modules zlib, module and punycode are built on.
func (n *node) otherFunctions() map[string]func(goja.FunctionCall) goja.Value {
	return map[string]func(goja.FunctionCall) goja.Value{
		"zlib": n.zlib,
		"crc32": func(c goja.FunctionCall) goja.Value {
			return n.rt.ToValue(int64(crc32.Update(uint32(c.Argument(1).ToInteger()), crc32.IEEETable, n.mustBytes(c.Argument(0)))))
		},
		"moduleNames": func(goja.FunctionCall) goja.Value {
			var names []string
			for _, m := range compatibility.NodeModules() {
				names = append(names, strings.TrimPrefix(m.Name, "node:"))
			}
			slices.Sort(names)
			list := make([]any, len(names))
			for k, name := range names {
				list[k] = name
			}
			return n.rt.NewArray(list...)
		},
		"punycode": func(c goja.FunctionCall) goja.Value {
			convert := idna.Punycode.ToUnicode
			if c.Argument(1).ToBoolean() {
				convert = idna.Punycode.ToASCII
			}
			text, err := convert(c.Argument(0).String())
			if err != nil {
				return goja.Undefined()
			}
			return n.rt.ToValue(text)
		},
	}
}

// zlib compresses or the reverse: (kind, bytes, level, most bytes). Of an error it returns its code and message.
func (n *node) zlib(c goja.FunctionCall) goja.Value {
	kind, in, level := c.Argument(0).String(), n.mustBytes(c.Argument(1)), int(c.Argument(2).ToInteger())
	most := int(c.Argument(3).ToInteger())
	if most <= 0 || most > maxInflated {
		most = maxInflated
	}
	var out []byte
	var err error
	if strings.HasPrefix(kind, "deflate") || kind == "gzip" {
		out, err = deflate(kind, in, level)
	} else {
		out, err = inflate(kind, in, most)
	}
	switch {
	case err != nil:
		return n.rt.ToValue(zlibError(err))
	case len(out) > most:
		return n.rt.ToValue("ERR_BUFFER_TOO_LARGE|Cannot create a Buffer larger than the limit")
	}
	return n.buffer(out)
}

// zlibError is the code and message that zlib has for an error.
func zlibError(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "Z_BUF_ERROR|unexpected end of file"
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, zlib.ErrHeader):
		return "Z_DATA_ERROR|incorrect header check"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zlib.ErrChecksum):
		return "Z_DATA_ERROR|incorrect data check"
	}
	return "Z_DATA_ERROR|invalid stored block lengths"
}

func deflate(kind string, in []byte, level int) ([]byte, error) {
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch kind {
	case "gzip":
		w, err = gzip.NewWriterLevel(&b, level)
	case "deflate":
		w, err = zlib.NewWriterLevel(&b, level)
	default:
		w, err = flate.NewWriter(&b, level)
	}
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(in); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// inflate returns at most one byte more than most.
func inflate(kind string, in []byte, most int) ([]byte, error) {
	var r io.Reader
	var err error
	if kind == "unzip" {
		kind = "inflate"
		if len(in) > 1 && in[0] == 0x1f && in[1] == 0x8b {
			kind = "gunzip"
		}
	}
	switch {
	case kind == "gunzip" && (len(in) < 2 || in[0] != 0x1f || in[1] != 0x8b):
		return nil, gzip.ErrHeader
	case kind == "gunzip":
		r, err = gzip.NewReader(bytes.NewReader(in))
	case kind == "inflate":
		r, err = zlib.NewReader(bytes.NewReader(in))
	default:
		r = flate.NewReader(bytes.NewReader(in))
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, int64(most)+1))
}
