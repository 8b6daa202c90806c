package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/tandem-do/tandem/proto/cron"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/env"
	"github.com/tandem-do/tandem/runtime/isolate"
)

// entrypoints takes the calls of other processes to the script's entrypoints.
type entrypoints struct{ script *Script }

var _ sidecar.Handler = entrypoints{}

// admit returns the entrypoint that a call is for.
func (e entrypoints) admit(t sidecar.Target) (bundle.Service, error) {
	name := e.script.o.Bundle.Manifest().Name
	if t.Worker == name {
		return bundle.Service{Worker: name, Entrypoint: t.Entrypoint, Props: t.Props}, nil
	}
	if t.Worker == "" {
		return bundle.Service{}, &sidecar.Error{
			Reason: sidecar.ReasonNoSuchClass, Message: "This process runs no Durable Objects.",
		}
	}
	// The address was another's; whoever calls looks it up again.
	return bundle.Service{}, &sidecar.Error{
		Reason: sidecar.ReasonStaleEpoch, Message: fmt.Sprintf("The Worker %q is elsewhere.", t.Worker), Retryable: true,
	}
}

// Fetch implements sidecar.Handler.
func (e entrypoints) Fetch(ctx context.Context, t sidecar.Target, w http.ResponseWriter, r *http.Request) (err error) {
	to, err := e.admit(t)
	if err != nil {
		return err
	}
	ctx, span := telemetry.Start(ctx, telemetry.SpanServiceFetch)
	if span.Sampled() {
		span.SetString(telemetry.AttrHTTPMethod, r.Method)
		describe(span, t)
	}
	defer func() { span.End(err) }()
	release, i, err := e.script.pool.take(ctx)
	if err != nil {
		return outward(err)
	}
	defer release()
	resp, err := env.FetchEntrypoint(ctx, i, to, r)
	if err != nil {
		return e.uncaught(err)
	}
	return respond(ctx, w, resp)
}

// Call implements sidecar.Handler.
func (e entrypoints) Call(ctx context.Context, t sidecar.Target, method string, args []byte) (value []byte, err error) {
	to, err := e.admit(t)
	if err != nil {
		return nil, err
	}
	ctx, span := telemetry.Start(ctx, telemetry.SpanServiceCall)
	if span.Sampled() {
		span.SetString(telemetry.AttrServiceMethod, method)
		describe(span, t)
	}
	defer func() { span.End(err) }()
	if t.Entrypoint == cron.Entrypoint {
		return e.scheduled(ctx, method, args)
	}
	release, i, err := e.script.pool.take(ctx)
	if err != nil {
		return nil, outward(err)
	}
	defer release()
	value, err = env.CallEntrypoint(ctx, i, to, method, args)
	return value, e.uncaught(err)
}

// scheduled takes a scheduled event of the object that keeps the Worker's schedules.
func (e entrypoints) scheduled(ctx context.Context, method string, args []byte) ([]byte, error) {
	if method != cron.MethodScheduled {
		return nil, sidecar.NoSuchMethod([]string{method})
	}
	var event cron.Event
	if err := v8value.UnmarshalArguments(args, &event); err != nil {
		return nil, &sidecar.Error{Reason: sidecar.ReasonInvalid, Name: "TypeError", Message: "No scheduled event.", Cause: err}
	}
	r, err := e.script.Scheduled(ctx, event)
	if err != nil {
		return nil, outward(err)
	}
	return v8value.Marshal(r)
}

func describe(span telemetry.Span, t sidecar.Target) {
	span.SetString(telemetry.AttrWorker, t.Worker)
	span.SetString(telemetry.AttrEntrypoint, t.Entrypoint)
}

// uncaught logs an error that the script did not catch, with its stack, which does not leave the process.
func (e entrypoints) uncaught(err error) error {
	if x, ok := errors.AsType[*isolate.Exception](err); ok {
		e.script.o.OnLog(isolate.Entry{Level: isolate.LevelError, Text: "Uncaught " + x.Stack, Uncaught: x})
	}
	return outward(err)
}

// outward has a call that met the end of its isolate, before or while it ran, fail as one that may be made again.
func outward(err error) error {
	if errors.Is(err, isolate.ErrClosed) || errors.Is(err, isolate.ErrCondemned) {
		return &sidecar.Error{
			Reason: sidecar.ReasonDisconnected, Message: "The Worker was stopped.", Retryable: true, Cause: err,
		}
	}
	return err
}

// respond writes a response to another process, which is told of each piece that the script writes.
func respond(ctx context.Context, w http.ResponseWriter, resp *http.Response) error {
	defer resp.Body.Close()
	if _, whole := resp.Body.(interface{ Len() int }); !whole && resp.Body != http.NoBody {
		// A caller that goes away ends the stream, though nothing is being written to it.
		defer context.AfterFunc(ctx, func() { _ = resp.Body.Close() })()
	}
	header := w.Header()
	for name, values := range resp.Header {
		header[name] = values
	}
	env.PackStatus(resp, header)
	w.WriteHeader(resp.StatusCode)
	if resp.ContentLength >= 0 {
		_, err := io.Copy(w, resp.Body)
		return err
	}
	return copyBody(w, resp)
}
