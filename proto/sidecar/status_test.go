package sidecar_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// Every reason with every flag survives a gRPC status, and a CallError.
func TestErrorRoundTrip(t *testing.T) {
	t.Parallel()
	ignoreCause := cmpopts.IgnoreFields(sidecar.Error{}, "Cause")
	for reason := range dopb.ErrorReason_name {
		for flags := range 16 {
			e := &sidecar.Error{
				Reason: sidecar.Reason(reason), Name: "RangeError", Message: "too far", Epoch: uint64(flags),
				Remote: flags&1 != 0, Retryable: flags&2 != 0, Overloaded: flags&4 != 0, Reset: flags&8 != 0,
				Cause: io.EOF,
			}
			// As a gRPC handler's error: what arrives is a status of its proto.
			arrived := status.FromProto(status.Convert(sidecar.ToStatus(e)).Proto()).Err()
			if diff := cmp.Diff(e, sidecar.FromError(arrived), ignoreCause); diff != "" {
				t.Errorf("%v by status (-want +got):\n%s", e.Reason, diff)
			}
			if errors.Is(sidecar.FromError(arrived), io.EOF) {
				t.Errorf("%v: the cause crossed the wire", e.Reason)
			}
			if diff := cmp.Diff(e, sidecar.FromCallError(sidecar.ToCallError(e)), ignoreCause); diff != "" {
				t.Errorf("%v by CallError (-want +got):\n%s", e.Reason, diff)
			}
			if got := codes.Code(sidecar.ToCallError(e).GetCode()); got != status.Code(arrived) || got == codes.OK {
				t.Errorf("%v: code %v in the CallError, %v in the status", e.Reason, got, status.Code(arrived))
			}
		}
	}
}

func TestFromError(t *testing.T) {
	t.Parallel()
	own := &sidecar.Error{Reason: sidecar.ReasonBroken, Message: "m"}
	tests := []struct {
		name string
		err  error
		want sidecar.Error
		is   error
	}{
		{"own", fmt.Errorf("do it: %w", own), *own, own},
		{"canceled", fmt.Errorf("x: %w", context.Canceled), sidecar.Error{
			Reason: sidecar.ReasonCanceled, Message: "The call was canceled.",
		}, context.Canceled},
		{"deadline", context.DeadlineExceeded, sidecar.Error{
			Reason: sidecar.ReasonDeadline, Message: "The call's deadline passed.",
		}, context.DeadlineExceeded},
		{"status canceled", status.Error(codes.Canceled, "x"), sidecar.Error{
			Reason: sidecar.ReasonCanceled, Message: "The call was canceled.",
		}, context.Canceled},
		{"status deadline", status.Error(codes.DeadlineExceeded, "x"), sidecar.Error{
			Reason: sidecar.ReasonDeadline, Message: "The call's deadline passed.",
		}, context.DeadlineExceeded},
		{"unavailable", status.Error(codes.Unavailable, "dial unix /secret: refused"), sidecar.Error{
			Reason: sidecar.ReasonDisconnected, Message: "Network connection lost.", Retryable: true,
		}, nil},
		{"exhausted", status.Error(codes.ResourceExhausted, "full"), sidecar.Error{
			Reason: sidecar.ReasonOverloaded, Message: "full", Overloaded: true,
		}, nil},
		{"invalid", status.Error(codes.InvalidArgument, "f is empty"), sidecar.Error{
			Reason: sidecar.ReasonInvalid, Message: "f is empty",
		}, nil},
		{"unimplemented", status.Error(codes.Unimplemented, "none"), sidecar.Error{
			Reason: sidecar.ReasonNoSuchMethod, Message: "none",
		}, nil},
		{"other status", status.Error(codes.NotFound, "gone"), sidecar.Error{Message: "gone"}, nil},
	}
	for _, tt := range tests {
		got := sidecar.FromError(tt.err)
		want := tt.want
		if diff := cmp.Diff(&want, got, cmpopts.IgnoreFields(sidecar.Error{}, "Cause")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if tt.is != nil && !errors.Is(got, tt.is) {
			t.Errorf("%s: %v is not in the chain", tt.name, tt.is)
		}
	}
	if got := sidecar.FromError(nil); got != nil {
		t.Errorf("nil: got %v", got)
	}
	secret := errors.New("password is 1234")
	got := sidecar.FromError(secret)
	if !strings.HasPrefix(got.Message, "internal error; reference = ") || !errors.Is(got, secret) {
		t.Errorf("got %+v", got)
	}
	if again := sidecar.FromError(secret); again.Message == got.Message {
		t.Error("two errors have one reference")
	}
}

func TestToStatus(t *testing.T) {
	t.Parallel()
	own := status.Error(codes.NotFound, "no such lease")
	if got := sidecar.ToStatus(own); got != own { // the very same
		t.Errorf("got %v, want it unchanged", got)
	}
	// Another process's answer is not this one's, unless its handler says so.
	if got := sidecar.ToStatus(fmt.Errorf("ask the router: %w", status.Error(codes.NotFound, "x"))); status.Code(got) !=
		codes.Internal {
		t.Errorf("got %v, want INTERNAL", got)
	}
	if got := sidecar.ToStatus(nil); got != nil {
		t.Errorf("nil: got %v", got)
	}
}
