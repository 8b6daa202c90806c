package sidecar

import (
	"testing"

	"google.golang.org/protobuf/proto"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/objectid"
)

// Whatever bytes a caller sends as a call: it is refused by name, or it can be handed to a handler.
func FuzzCall(f *testing.F) {
	id := objectid.NewNamespace("x-A").FromName("n")
	for _, c := range []*dopb.Call{
		{},
		{Namespace: "x-A", ObjectId: id[:], Epoch: 1, Event: &dopb.Call_Rpc{Rpc: &dopb.RpcRequest{Method: "m"}}},
		{Namespace: "x-A", ObjectId: id[:], Epoch: 1, Traceparent: "00-x", Event: &dopb.Call_Fetch{
			Fetch: &dopb.HttpRequest{Method: "GET", Url: "http://do/%", UploadToken: proto.String("t")},
		}},
		{Service: &dopb.ServiceTarget{Worker: "w", Entrypoint: "E"}, Depth: 33, Event: &dopb.Call_Rpc{Rpc: &dopb.RpcRequest{Method: "m"}}},
		{Service: &dopb.ServiceTarget{Worker: "w"}, Namespace: "x-A", Event: &dopb.Call_Rpc{Rpc: &dopb.RpcRequest{Method: "m"}}},
	} {
		b, err := proto.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &dopb.Call{}
		if proto.Unmarshal(b, c) != nil {
			return
		}
		if err := validateCall(c); err != nil {
			if e := FromError(err); e.Reason != ReasonInvalid || e.Message == "" {
				t.Errorf("got %+v", e)
			}
			return
		}
		h := (&callerConn{ctx: t.Context()}).newCall(1, c)
		defer h.life.End(nil)
		if c.GetFetch() != nil {
			if r, err := h.incomingRequest(c.GetFetch()); err == nil && r.Body == nil {
				t.Error("a request without a body")
			}
		}
	})
}
