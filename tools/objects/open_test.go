package objects

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// hourAhead is a host whose clock was advanced by an hour, with an object that was active just now.
type hourAhead struct {
	dopb.UnimplementedAdminServiceServer
	dopb.UnimplementedClockServiceServer
}

func (hourAhead) GetClock(context.Context, *dopb.GetClockRequest) (*dopb.GetClockResponse, error) {
	return &dopb.GetClockResponse{Ahead: durationpb.New(time.Hour)}, nil
}

func (hourAhead) ListObjects(context.Context, *dopb.ListObjectsRequest) (*dopb.ListObjectsResponse, error) {
	now := time.Now().Add(time.Hour)
	return &dopb.ListObjectsResponse{Objects: []*dopb.ObjectSummary{{
		ObjectId: make([]byte, 32),
		Alarm:    &dopb.AlarmInfo{DueTime: timestamppb.New(now.Add(30*time.Minute + time.Second/2))},
		Actor:    &dopb.ActorInfo{LastActive: timestamppb.New(now)},
	}}}, nil
}

// Times are told by the clock of the host, which tests advance.
func TestClockOfTheHost(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "host")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	dopb.RegisterAdminServiceServer(server, hourAhead{})
	dopb.RegisterClockServiceServer(server, hourAhead{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	defer func() {
		server.Stop()
		<-served
	}()
	var out bytes.Buffer
	c, err := Open(t.Context(), Options{Address: "unix:" + path, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.List(t.Context(), "w-A", ListOptions{Limit: 10}); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); !strings.Contains(s, "in 30m") || !strings.Contains(s, "idle for 0s") {
		t.Errorf("got\n%s", s)
	}
}
