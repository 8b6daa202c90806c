package nodeapi

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"fmt"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
	"golang.org/x/crypto/chacha20"
	"golang.org/x/crypto/chacha20poly1305"
)

// maxAuthenticated bounds what one authenticated message may hold: it is kept until its end.
const maxAuthenticated = 64 << 20

// cipherKind is what a cipher's name says.
type cipherKind struct {
	mode           string
	key, iv, block int
}

// cipherOf takes a cipher's name apart; it reports false for one that there is not.
func cipherOf(name string) (cipherKind, bool) {
	name = strings.ToLower(name)
	switch name {
	case "chacha20-poly1305":
		return cipherKind{mode: "chacha", key: 32, iv: 12, block: 1}, true
	case "aes128", "aes192", "aes256":
		name = "aes-" + name[3:] + "-cbc"
	case "id-aes128-gcm", "id-aes192-gcm", "id-aes256-gcm":
		name = "aes-" + name[6:9] + "-gcm"
	}
	parts := strings.Split(name, "-")
	if len(parts) != 3 || parts[0] != "aes" {
		return cipherKind{}, false
	}
	bits, _ := strconv.Atoi(parts[1])
	k := cipherKind{mode: parts[2], key: bits / 8, iv: 16, block: 1}
	if bits != 128 && bits != 192 && bits != 256 {
		return k, false
	}
	switch k.mode {
	case "gcm":
		k.iv = 12
	case "cbc":
		k.block = 16
	case "ecb":
		k.block, k.iv = 16, 0
	case "ctr":
	default:
		return k, false
	}
	return k, true
}

// crypting is a message that is being encrypted or decrypted.
type crypting struct {
	isolate.Opaque
	kind    cipherKind
	encrypt bool
	padding bool
	blocks  cipher.Block
	mode    cipher.BlockMode
	// rest are bytes that make no whole block, or the last one when decrypting.
	rest   []byte
	stream cipher.Stream
	// What follows is for authenticated modes: all of the input so far, what is to be authenticated beside, the tag.
	aead     cipher.AEAD
	iv       []byte
	all, aad []byte
	tag      []byte
	tagSize  int
}

// cipherFunctions are those of ciphers.
func (n *node) cipherFunctions() map[string]func(goja.FunctionCall) goja.Value {
	return map[string]func(goja.FunctionCall) goja.Value{
		"cipherInfo": func(c goja.FunctionCall) goja.Value {
			k, ok := cipherOf(c.Argument(0).String())
			if !ok {
				return goja.Undefined()
			}
			return n.rt.ToValue(map[string]any{"mode": k.mode, "keyLength": k.key, "ivLength": k.iv, "blockSize": k.block})
		},
		"newCipher":    n.newCipher,
		"cipherUpdate": func(c goja.FunctionCall) goja.Value { return n.buffer(n.cipherUpdate(c)) },
		"cipherFinal":  func(c goja.FunctionCall) goja.Value { return n.buffer(n.cipherFinal(n.cryptingOf(c))) },
		"cipherAAD": func(c goja.FunctionCall) goja.Value {
			x := n.cryptingOf(c)
			x.aad = append(x.aad, n.mustBytes(c.Argument(1))...)
			return goja.Undefined()
		},
		"cipherSetTag": func(c goja.FunctionCall) goja.Value {
			n.cryptingOf(c).tag = append([]byte(nil), n.mustBytes(c.Argument(1))...)
			return goja.Undefined()
		},
		"cipherTag": func(c goja.FunctionCall) goja.Value { return n.buffer(n.cryptingOf(c).tag) },
		"cipherPadding": func(c goja.FunctionCall) goja.Value {
			n.cryptingOf(c).padding = c.Argument(1).ToBoolean()
			return goja.Undefined()
		},
	}
}

func (n *node) cryptingOf(c goja.FunctionCall) *crypting {
	if o, ok := c.Argument(0).(*goja.Object); ok {
		if x, ok := o.Export().(*crypting); ok {
			return x
		}
	}
	n.isolate.Throw("TypeError", "this is no cipher")
	return nil
}

// newCipher begins a message: (name, key, iv, encrypt, tag length).
func (n *node) newCipher(c goja.FunctionCall) goja.Value {
	k, _ := cipherOf(c.Argument(0).String())
	key := append([]byte(nil), n.mustBytes(c.Argument(1))...)
	iv, _ := n.bytes(c.Argument(2))
	iv = append([]byte(nil), iv...)
	x := &crypting{kind: k, encrypt: c.Argument(3).ToBoolean(), padding: true, iv: iv, tagSize: 16}
	if size := c.Argument(4); goja.IsNumber(size) {
		x.tagSize = int(size.ToInteger())
	}
	if err := x.begin(key); err != nil {
		n.isolate.Throw("Error", "%s", err)
	}
	return n.rt.NewDynamicObject(x)
}

// begin sets the cipher up. Lengths of keys and vectors have been checked.
func (x *crypting) begin(key []byte) (err error) {
	if x.kind.mode == "chacha" {
		if x.aead, err = chacha20poly1305.New(key); err != nil {
			return fmt.Errorf("make the cipher: %w", err)
		}
		s, err := chacha20.NewUnauthenticatedCipher(key, x.iv)
		if err != nil {
			return fmt.Errorf("make the cipher: %w", err)
		}
		s.SetCounter(1)
		x.stream = s
		return nil
	}
	if x.blocks, err = aes.NewCipher(key); err != nil {
		return fmt.Errorf("make the cipher: %w", err)
	}
	switch x.kind.mode {
	case "cbc":
		x.mode = cipher.NewCBCDecrypter(x.blocks, x.iv)
		if x.encrypt {
			x.mode = cipher.NewCBCEncrypter(x.blocks, x.iv)
		}
	case "ctr":
		x.stream = cipher.NewCTR(x.blocks, x.iv)
	case "gcm":
		if x.aead, err = cipher.NewGCMWithNonceSize(x.blocks, len(x.iv)); err != nil {
			return fmt.Errorf("make the cipher: %w", err)
		}
		if len(x.iv) == 12 {
			x.stream = cipher.NewCTR(x.blocks, append(append([]byte(nil), x.iv...), 0, 0, 0, 2))
		}
	}
	return nil
}

// cipherUpdate returns what is known of the output once there is this much more input.
func (n *node) cipherUpdate(c goja.FunctionCall) []byte {
	x, in := n.cryptingOf(c), n.mustBytes(c.Argument(1))
	if x.aead != nil {
		if len(x.all)+len(in) > maxAuthenticated {
			n.isolate.Throw("RangeError", "an authenticated message may have at most %d bytes", maxAuthenticated)
		}
		before := len(x.all)
		x.all = append(x.all, in...)
		if x.stream == nil {
			// The key stream of a nonce of this length is what zeros become.
			zeros := x.aead.Seal(nil, x.iv, make([]byte, len(x.all)), nil)
			out := make([]byte, len(in))
			for k := range in {
				out[k] = in[k] ^ zeros[before+k]
			}
			return out
		}
	}
	if x.stream != nil {
		out := make([]byte, len(in))
		x.stream.XORKeyStream(out, in)
		return out
	}
	x.rest = append(x.rest, in...)
	whole := len(x.rest) / x.kind.block * x.kind.block
	if !x.encrypt && x.padding && whole == len(x.rest) && whole > 0 {
		whole -= x.kind.block // the last one may be padding
	}
	out := make([]byte, whole)
	x.crypt(out, x.rest[:whole])
	x.rest = append([]byte(nil), x.rest[whole:]...)
	return out
}

// crypt does whole blocks.
func (x *crypting) crypt(out, in []byte) {
	if x.mode != nil {
		x.mode.CryptBlocks(out, in)
		return
	}
	for k := 0; k < len(in); k += x.kind.block {
		if x.encrypt {
			x.blocks.Encrypt(out[k:], in[k:])
		} else {
			x.blocks.Decrypt(out[k:], in[k:])
		}
	}
}

// cipherFinal returns the end of the output, or throws OpenSSL's errors.
func (n *node) cipherFinal(x *crypting) []byte {
	switch {
	case x.aead != nil && x.encrypt:
		sealed := x.aead.Seal(nil, x.iv, x.all, x.aad)
		x.tag = sealed[len(x.all) : len(x.all)+x.tagSize]
		x.all = nil
		return nil
	case x.aead != nil:
		sealed := x.aead.Seal(nil, x.iv, x.opened(), x.aad)
		tag := sealed[len(sealed)-16:]
		if len(x.tag) == 0 || len(x.tag) > 16 || subtle.ConstantTimeCompare(tag[:len(x.tag)], x.tag) != 1 {
			n.isolate.Throw("Error", "Unsupported state or unable to authenticate data")
		}
		return nil
	case x.stream != nil:
		return nil
	}
	if !x.padding {
		if len(x.rest) > 0 {
			n.throwCode("Error", "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH", "error:1C80006B:Provider routines::wrong final block length")
		}
		return nil
	}
	size := x.kind.block
	if x.encrypt {
		pad := size - len(x.rest)%size
		for range pad {
			x.rest = append(x.rest, byte(pad))
		}
		out := make([]byte, len(x.rest))
		x.crypt(out, x.rest)
		return out
	}
	if len(x.rest) != size {
		n.throwCode("Error", "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH", "error:1C80006B:Provider routines::wrong final block length")
	}
	out := make([]byte, size)
	x.crypt(out, x.rest)
	pad := int(out[size-1])
	good := pad >= 1 && pad <= size
	for k := 1; good && k <= pad; k++ {
		good = int(out[size-k]) == pad
	}
	if !good {
		n.throwCode("Error", "ERR_OSSL_BAD_DECRYPT", "error:1C800064:Provider routines::bad decrypt")
	}
	return out[:size-pad]
}

// opened is the text of an authenticated message, whose tag is not checked yet.
func (x *crypting) opened() []byte {
	zeros := x.aead.Seal(nil, x.iv, make([]byte, len(x.all)), nil)
	out := make([]byte, len(x.all))
	for k := range out {
		out[k] = x.all[k] ^ zeros[k]
	}
	return out
}
