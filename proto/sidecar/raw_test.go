package sidecar_test

import (
	"context"

	"google.golang.org/grpc"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// rawSend opens a Connect stream without a Link and sends frames in one batch.
func rawSend(ctx context.Context, conn grpc.ClientConnInterface, frames ...*dopb.CallerFrame) (
	grpc.BidiStreamingClient[dopb.ConnectRequest, dopb.ConnectResponse], error,
) {
	stream, err := dopb.NewObjectServiceClient(conn).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return stream, stream.Send(&dopb.ConnectRequest{Frames: frames})
}

// rawCall is the frame of a method call for the object with this name.
func rawCall(id uint64, name string, r *dopb.RpcRequest) *dopb.CallerFrame {
	object := namespace.FromName(name)
	return &dopb.CallerFrame{CallId: id, Frame: &dopb.CallerFrame_Call{Call: &dopb.Call{
		Namespace: "app-Class", ObjectId: object[:], ObjectName: &name, Epoch: 7, Event: &dopb.Call_Rpc{Rpc: r},
	}}}
}

// rawFetch is the frame of a request for the object with this name.
func rawFetch(id uint64, name string, r *dopb.HttpRequest) *dopb.CallerFrame {
	f := rawCall(id, name, nil)
	f.GetCall().Event = &dopb.Call_Fetch{Fetch: r}
	return f
}
