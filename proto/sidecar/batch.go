package sidecar

import dopb "github.com/tandem-do/tandem/proto/durableobject/v1"

const (
	// maxBatchBytes is the size at which a batch of frames is sent although more are waiting. With the
	// largest frame on top of it, a batch is within maxMessageBytes.
	maxBatchBytes = 128 << 10
	// frameOverhead is reckoned for a frame beside its strings and bytes.
	frameOverhead = 128
)

// batcher sends frames in batches. It belongs to one writer goroutine, whose queue it gives an empty slice
// for each full one, so that two slices take turns.
//
// A writer that was woken yields once before it takes the queue: goroutines that are ready to run add their frames to the
// batch, and gRPC's cost is one of messages, not of frames. It is worth a tenth of a short call's time.
type batcher[F any] struct {
	// weigh returns about how many bytes a frame has.
	weigh func(F) int
	free  []F
}

// spare returns an empty slice to queue into.
func (b *batcher[F]) spare() []F {
	s := b.free
	b.free = nil
	return s
}

// write sends frames in batches of about maxBatchBytes, and takes the slice back.
func (b *batcher[F]) write(frames []F, send func([]F) error) error {
	start, size := 0, 0
	for i, f := range frames {
		size += b.weigh(f)
		if size < maxBatchBytes && i+1 < len(frames) {
			continue
		}
		if err := send(frames[start : i+1]); err != nil {
			return err
		}
		start, size = i+1, 0
	}
	clear(frames)
	b.free = frames[:0]
	return nil
}

func weighCaller(f *dopb.CallerFrame) int {
	c := f.GetCall()
	h := c.GetFetch()
	return frameOverhead + len(c.GetObjectName()) + len(c.GetProps()) + len(c.GetRpc().GetArguments()) +
		len(h.GetUrl()) + headerBytes(h.GetHeaders()) + len(h.GetBody()) + weighStub(f.GetStub())
}

func weighStub(f *dopb.StubFrame) int {
	if f == nil {
		return 0
	}
	return len(f.GetCall().GetRequest().GetArguments()) + len(f.GetReply().GetValue().GetValue())
}

func weighHost(f *dopb.HostFrame) int {
	h := f.GetFetch()
	return frameOverhead + len(f.GetRpc().GetValue()) + len(f.GetError().GetMessage()) +
		headerBytes(h.GetHeaders()) + len(h.GetBody()) + weighStub(f.GetStub())
}
