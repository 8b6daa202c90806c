package sidecar

import dopb "github.com/tandem-do/tandem/proto/durableobject/v1"

const (
	// maxBatchBytes is the size at which a batch of frames is sent although more are waiting. With the
	// largest frame on top of it, a batch is within maxMessageBytes.
	maxBatchBytes = 128 << 10
	// frameOverhead is reckoned for a frame beside its strings and bytes.
	frameOverhead = 128
	// numberWeight is reckoned for the number of a stub or of a call, refWeight for a reference to a stub.
	numberWeight = 10
	refWeight    = 16
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
	return frameOverhead + len(c.GetObjectName()) + len(c.GetProps()) + weighRequest(c.GetRpc()) +
		len(h.GetUrl()) + headerBytes(h.GetHeaders()) + len(h.GetBody()) + weighStub(f.GetStub())
}

func weighStub(f *dopb.StubFrame) int {
	if f == nil {
		return 0
	}
	reply, drop := f.GetReply(), f.GetDrop()
	numbers := len(reply.GetKept()) + len(drop.GetStubs()) + len(drop.GetCalls()) + len(drop.GetStubCalls())
	return weighRequest(f.GetCall().GetRequest()) + weighResponse(reply.GetValue()) + weighError(reply.GetError()) +
		numberWeight*numbers
}

// weighRequest weighs what a script calls: its path and its arguments are of any size within their limits.
func weighRequest(r *dopb.RpcRequest) int {
	size := len(r.GetMethod()) + len(r.GetArguments()) + refWeight*len(r.GetStubs())
	for _, name := range r.GetPath() {
		size += len(name)
	}
	return size
}

func weighResponse(r *dopb.RpcResponse) int { return len(r.GetValue()) + refWeight*len(r.GetStubs()) }

func weighError(e *dopb.CallError) int {
	return len(e.GetName()) + len(e.GetMessage()) + len(e.GetProperties())
}

func weighHost(f *dopb.HostFrame) int {
	h := f.GetFetch()
	return frameOverhead + weighResponse(f.GetRpc()) + weighError(f.GetError()) + numberWeight*len(f.GetKept()) +
		headerBytes(h.GetHeaders()) + len(h.GetBody()) + weighStub(f.GetStub())
}
