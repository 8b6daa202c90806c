package sidecar_test

import (
	"context"

	"google.golang.org/grpc"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// rawFetch makes a call whose response has a download_token, waits until the host forgets the token, and
// returns how the call's stream says the body ended.
func rawFetch(ctx context.Context, conn grpc.ClientConnInterface) error {
	client := dopb.NewObjectServiceClient(conn)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.Connect(ctx)
	if err != nil {
		return err
	}
	id := namespace.FromName("x")
	err = stream.Send(&dopb.ConnectRequest{Frames: []*dopb.CallerFrame{{CallId: 1, Frame: &dopb.CallerFrame_Call{
		Call: &dopb.Call{Namespace: "app-Class", ObjectId: id[:], Epoch: 7, Event: &dopb.Call_Fetch{
			Fetch: &dopb.HttpRequest{Method: "GET", Url: "http://do/"},
		}},
	}}}})
	if err != nil {
		return err
	}
	if _, err = stream.Recv(); err != nil {
		return err
	}
	// The host ends the stream once the only call has ended.
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if _, err := stream.Recv(); err == nil {
		return nil
	}
	return &sidecar.Error{Reason: sidecar.ReasonCanceled}
}
