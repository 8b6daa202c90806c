package egress

import (
	"io"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// boundedBody is a response's body that fails where it becomes longer than allowed.
type boundedBody struct {
	io.ReadCloser
	// left is how many bytes may still come.
	left int64
}

// Read reads what is left, and one byte more to see that there is none.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, upstream.Errorf(upstream.CodeTooLarge, "the source's answer is too large")
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n, b.left = int(b.left), -1
		return n, upstream.Errorf(upstream.CodeTooLarge, "the source's answer is too large")
	}
	b.left -= int64(n)
	return n, err
}
