package sidecar

import (
	"fmt"
	"unicode/utf8"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/objectid"
)

// Limits of a call. Both ends hold them: the caller before it sends, the host before it runs.
const (
	// MaxInlineBodyBytes is the largest body that shares a frame with its head; a larger one, or one that
	// is not known to have ended, flows on a stream of its own. It is also the size of a body's pieces.
	MaxInlineBodyBytes = 64 << 10
	// MaxHeaderBytes is the most that the URL and the header fields of a message may hold.
	MaxHeaderBytes = 128 << 10
	// MaxMethodBytes is the longest name of a method, of RPC and of HTTP.
	MaxMethodBytes = 1 << 10
	// MaxPropsBytes is the most that props may hold.
	MaxPropsBytes = 16 << 10
	// MaxNamespaceBytes is the longest unique key.
	MaxNamespaceBytes = 512
	// MaxWorkerBytes is the longest name of a Worker, MaxEntrypointBytes that of an entrypoint.
	MaxWorkerBytes     = 255
	MaxEntrypointBytes = 1 << 10
	// MaxCallsInFlight is how many calls of one Link may wait at a time.
	MaxCallsInFlight = 10_000
	// maxTokenBytes is the longest token of a body.
	maxTokenBytes = 128
)

// validateCall returns an *Error of ReasonInvalid that names what is wrong with a call, or nil.
func validateCall(c *dopb.Call) error {
	if c.GetDepth() > MaxDepth {
		return tooDeep()
	}
	if err := validateTarget(c); err != nil {
		return err
	}
	if n := len(c.GetProps()); n > MaxPropsBytes {
		return firstTooLong(field{"props", n, MaxPropsBytes})
	}
	if d := c.GetTimeout(); d != nil && !d.IsValid() {
		return invalid("invalid call: timeout is out of range")
	}
	switch ev := c.GetEvent().(type) {
	case *dopb.Call_Fetch:
		return validateFetch(ev.Fetch)
	case *dopb.Call_Rpc:
		if ev.Rpc.GetMethod() == "" {
			return invalid("invalid call: rpc.method is empty")
		}
		return validateRequest(ev.Rpc)
	}
	return invalid("invalid call: it has no event")
}

// validateTarget checks that a call is for one object or for one entrypoint.
func validateTarget(c *dopb.Call) error {
	if s := c.GetService(); s != nil {
		switch {
		case s.GetWorker() == "":
			return invalid("invalid call: service.worker is empty")
		case c.GetNamespace() != "" || len(c.GetObjectId()) > 0 || c.GetEpoch() != 0:
			return invalid("invalid call: it is for a service and for an object")
		}
		return firstTooLong(
			field{"service.worker", len(s.GetWorker()), MaxWorkerBytes},
			field{"service.entrypoint", len(s.GetEntrypoint()), MaxEntrypointBytes},
		)
	}
	switch {
	case c.GetNamespace() == "":
		return invalid("invalid call: namespace is empty")
	case len(c.GetObjectId()) != objectid.Size:
		return invalid(fmt.Sprintf("invalid call: object_id has %d bytes, want %d",
			len(c.GetObjectId()), objectid.Size))
	case c.GetEpoch() == 0:
		return invalid("invalid call: epoch is zero")
	case !utf8.ValidString(c.GetObjectName()):
		return invalid("invalid call: object_name is not UTF-8")
	}
	return firstTooLong(
		field{"namespace", len(c.GetNamespace()), MaxNamespaceBytes},
		field{"object_name", len(c.GetObjectName()), objectid.MaxNameBytes},
	)
}

func validateFetch(r *dopb.HttpRequest) error {
	if r.GetMethod() == "" {
		return invalid("invalid call: fetch.method is empty")
	}
	return firstTooLong(
		field{"fetch.method", len(r.GetMethod()), MaxMethodBytes},
		field{"fetch.url and fetch.headers", len(r.GetUrl()) + headerBytes(r.GetHeaders()), MaxHeaderBytes},
		field{"fetch.body", len(r.GetBody()), MaxInlineBodyBytes},
		field{"fetch.upload_token", len(r.GetUploadToken()), maxTokenBytes},
	)
}

// field is a part of a call with its size and limit in bytes.
type field struct {
	name        string
	size, limit int
}

func firstTooLong(fields ...field) error {
	for _, f := range fields {
		if f.size > f.limit {
			return invalid(fmt.Sprintf("invalid call: %s has %d bytes, at most %d are allowed",
				f.name, f.size, f.limit))
		}
	}
	return nil
}

func headerBytes(headers []*dopb.HttpHeader) (n int) {
	for _, h := range headers {
		n += len(h.GetName())
		for _, v := range h.GetValues() {
			n += len(v)
		}
	}
	return n
}
