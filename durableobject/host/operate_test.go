package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/durableobject/admin"
	"github.com/tandem-do/tandem/durableobject/archive"
	"github.com/tandem-do/tandem/durableobject/storage"
	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// admin returns a client of the host's admin service, until the stack's end.
func (s *stack) admin() dopb.AdminServiceClient {
	conn := dial(s.t, s.listener)
	s.ends = append(s.ends, func() { conn.Close() })
	return dopb.NewAdminServiceClient(conn)
}

// ref names an object of class Test.
func ref(name string) *dopb.ObjectRef {
	return &dopb.ObjectRef{Namespace: "w-Test", Object: &dopb.ObjectRef_ObjectName{ObjectName: name}}
}

func idOf(name string) objectid.ID { return objectid.NewNamespace("w-Test").FromName(name) }

// wantCode checks the code of an error, and that its text has what it should.
func wantCode(t *testing.T, err error, code codes.Code, text string) {
	t.Helper()
	if s, _ := status.FromError(err); s.Code() != code || !strings.Contains(s.Message(), text) {
		t.Errorf("got %v, want %v with %q", err, code, text)
	}
}

// operated is a class with what the tests of operators need.
func operated() *testClass {
	release := make(chan struct{})
	return &testClass{
		methods: map[string]func(context.Context, *testObject, string) (string, error){
			"wait": func(ctx context.Context, o *testObject, _ string) (string, error) {
				return "", o.state.Await(ctx, func(ctx context.Context) error { return pause(ctx, 5*time.Second) })
			},
			"write": func(ctx context.Context, o *testObject, _ string) (string, error) {
				if err := durableobject.Put(ctx, o.state.Storage(), "lost", true); err != nil {
					return "", err
				}
				<-release // within the turn
				return "", nil
			},
			"release": func(context.Context, *testObject, string) (string, error) {
				close(release)
				return "", nil
			},
			"wake": func(ctx context.Context, o *testObject, _ string) (string, error) {
				return "", o.state.Storage().SetAlarm(ctx, time.Now().Add(time.Hour), storage.PutOptions{})
			},
		},
		alarm: func(ctx context.Context, o *testObject, _ durableobject.AlarmInfo) error {
			n, err := o.increment(ctx, 100)
			if n >= 200 {
				err = errors.New("often enough")
			}
			return err
		},
	}
}

// operate runs a test with a stack of that class in a bubble, to which change adds.
func operate(t *testing.T, change func(*testClass), run func(t *testing.T, s *stack)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := operated()
		if change != nil {
			change(c)
		}
		s := newStack(t, vfs.NewMem(), c.classes())
		s.serve()
		run(t, s)
		s.close()
	})
}

// counter returns an object's own word of its counter.
func (s *stack) counter(name string) int {
	s.t.Helper()
	n, err := durableobject.Call[int](s.t.Context(), s.stub(name), "read", nil)
	if err != nil {
		s.t.Errorf("read: %v", err)
	}
	return n
}

func (s *stack) increment(name string) {
	s.t.Helper()
	if _, err := durableobject.Call[int](s.t.Context(), s.stub(name), "increment", 1); err != nil {
		s.t.Errorf("increment: %v", err)
	}
}

func TestAdminReads(t *testing.T) {
	t.Parallel()
	operate(t, nil, func(t *testing.T, s *stack) {
		ctx, client := t.Context(), s.admin()
		names, err := client.ListNamespaces(ctx, &dopb.ListNamespacesRequest{})
		if err != nil || len(names.GetNamespaces()) != 1 || !names.GetNamespaces()[0].GetServed() ||
			names.GetNamespaces()[0].GetObjects() != 0 || names.GetHost().GetEpoch() != 1 {
			t.Errorf("namespaces: %v, %v", names, err)
		}
		_, err = client.GetObject(ctx, &dopb.GetObjectRequest{Object: ref("a")})
		wantCode(t, err, codes.NotFound, idOf("a").String())
		s.increment("a")
		time.Sleep(3 * time.Second)
		got, err := client.GetObject(ctx, &dopb.GetObjectRequest{Object: ref("a")})
		if err != nil {
			t.Fatal(err)
		}
		id, name := idOf("a"), "a"
		last := got.GetObject().GetActor().GetLastActive()
		want := &dopb.GetObjectResponse{
			Namespace: "w-Test", Host: &dopb.HostInfo{HostId: s.store.HostID(), Epoch: 1},
			Object: &dopb.ObjectSummary{
				ObjectId: id[:], ObjectName: &name, Keys: 1, Actor: &dopb.ActorInfo{LastActive: last},
			},
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		if idle := time.Since(last.AsTime()); idle < 3*time.Second || idle > 4*time.Second {
			t.Errorf("idle for %s", idle)
		}
		keys, err := client.ListKeys(ctx, &dopb.ListKeysRequest{Object: ref("a")})
		if err != nil || len(keys.GetKeys()) != 1 || keys.GetKeys()[0].GetType() != "number" ||
			keys.GetKeys()[0].GetPreview() != "1" || keys.GetKeys()[0].GetSize() != 4 {
			t.Errorf("keys: %v, %v", keys, err)
		}
		if made := s.serial("b"); made != 2 {
			t.Errorf("reading made %d instances", made-2)
		}
		// A live object without state is known, but not among those with state.
		got, err = client.GetObject(ctx, &dopb.GetObjectRequest{Object: ref("b")})
		if err != nil || got.GetObject().GetActor() == nil {
			t.Errorf("a live object: %v, %v", got, err)
		}
		list, err := client.ListObjects(ctx, &dopb.ListObjectsRequest{Namespace: "w-Test"})
		if err != nil || len(list.GetObjects()) != 1 || list.GetObjects()[0].GetActor() == nil {
			t.Errorf("objects: %v, %v", list, err)
		}
		time.Sleep(time.Minute)
		got, err = client.GetObject(ctx, &dopb.GetObjectRequest{Object: ref("a")})
		if err != nil || got.GetObject().GetActor() != nil {
			t.Errorf("after the eviction: %v, %v", got, err)
		}
	})
}

func TestAdminEvict(t *testing.T) {
	t.Parallel()
	operate(t, nil, func(t *testing.T, s *stack) {
		ctx, client := t.Context(), s.admin()
		evict := func(wait time.Duration) error {
			_, err := client.EvictObject(ctx, &dopb.EvictObjectRequest{Object: ref("a"), Wait: durationpb.New(wait)})
			return err
		}
		wantCode(t, evict(0), codes.NotFound, "not live")
		first := s.serial("a")
		synctest.Wait()
		if err := evict(0); err != nil {
			t.Error(err)
		}
		wantCode(t, evict(0), codes.NotFound, "not live")
		if s.serial("a") == first {
			t.Error("the instance is still there")
		}
		ended := make(chan error, 1)
		go func() {
			_, err := s.call("a", "wait")
			ended <- err
		}()
		synctest.Wait()
		got, err := client.GetObject(ctx, &dopb.GetObjectRequest{Object: ref("a")})
		if a := got.GetObject().GetActor(); err != nil || a.GetActive() != 1 || a.GetLastActive() != nil {
			t.Errorf("an active object: %v, %v", got, err)
		}
		wantCode(t, evict(0), codes.FailedPrecondition, "under way")
		began := time.Now()
		wantCode(t, evict(time.Second), codes.FailedPrecondition, "under way")
		if waited := time.Since(began); waited < time.Second || waited > 2*time.Second {
			t.Errorf("waited for %s", waited)
		}
		if err := evict(time.Minute); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the event that was waited for: %v", err)
		}
		// The entry of an evicted object goes in the end.
		time.Sleep(ExpiryTimeout + IdleTimeout)
		if entries, _ := s.host.table.size(); entries != 0 {
			t.Errorf("%d entries are left", entries)
		}
	})
}

func TestAdminAbort(t *testing.T) {
	t.Parallel()
	operate(t, nil, func(t *testing.T, s *stack) {
		ctx, client := t.Context(), s.admin()
		abort := func(message string) error {
			_, err := client.AbortObject(ctx, &dopb.AbortObjectRequest{Object: ref("a"), Message: message})
			return err
		}
		wantCode(t, abort(""), codes.NotFound, "not live")
		s.increment("a")
		first := s.serial("a")
		ended := make(chan error, 2)
		for range 2 { // one that has the turn, and one that waits for it
			go func() {
				_, err := s.call("a", "write")
				ended <- err
			}()
		}
		synctest.Wait()
		got, err := client.GetObject(ctx, &dopb.GetObjectRequest{Object: ref("a")})
		if a := got.GetObject().GetActor(); err != nil || a.GetActive() != 2 || a.GetWaiting() != 1 {
			t.Errorf("a busy object: %v, %v", got, err)
		}
		if err := abort("maintenance"); err != nil {
			t.Fatal(err)
		}
		e := wantReason(t, <-ended, sidecar.ReasonBroken, "maintenance")
		if !e.Reset {
			t.Errorf("the error does not say that the object was reset: %+v", e)
		}
		got, err = client.GetObject(ctx, &dopb.GetObjectRequest{Object: ref("a")})
		a := got.GetObject().GetActor()
		if err != nil || a.GetBrokenReason() != "operator" || a.GetBrokenMessage() != "maintenance" {
			t.Errorf("a broken object: %v, %v", got, err)
		}
		wantCode(t, abort(""), codes.NotFound, "not live")
		if _, err := s.call("b", "release"); err != nil {
			t.Fatal(err)
		}
		wantReason(t, <-ended, sidecar.ReasonBroken, "maintenance")
		if s.serial("a") == first || s.counter("a") != 1 {
			t.Error("the object did not come back with its state")
		}
		keys, err := client.ListKeys(ctx, &dopb.ListKeysRequest{Object: ref("a")})
		if err != nil || len(keys.GetKeys()) != 1 {
			t.Errorf("what was not committed was kept: %v, %v", keys, err)
		}
	})
}

// However an object is, a delete leaves nothing of it, and it starts anew.
func TestAdminDelete(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testing.T, *stack) (wasLive bool){
		"idle":    func(*testing.T, *stack) bool { return true },
		"evicted": func(*testing.T, *stack) bool { time.Sleep(30 * time.Second); return false },
		"expired": func(*testing.T, *stack) bool { time.Sleep(2 * time.Minute); return false },
		"broken": func(_ *testing.T, s *stack) bool {
			s.host.table.find(tableKey{s.host.classes.get("w-Test"), idOf("a")}).actor.Break(actor.ReasonAborted, errors.New("x"))
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			operate(t, nil, func(t *testing.T, s *stack) {
				ctx, client := t.Context(), s.admin()
				s.increment("a")
				s.increment("other")
				if _, err := s.call("a", "wake"); err != nil {
					t.Fatal(err)
				}
				live := prepare(t, s)
				r, err := client.DeleteObject(ctx, &dopb.DeleteObjectRequest{Object: ref("a")})
				if err != nil || r.GetWasLive() != live {
					t.Errorf("got %v, %v; want was_live %v", r, err, live)
				}
				_, err = client.GetObject(ctx, &dopb.GetObjectRequest{Object: ref("a")})
				wantCode(t, err, codes.NotFound, "no object")
				_, err = client.DeleteObject(ctx, &dopb.DeleteObjectRequest{Object: ref("a")})
				wantCode(t, err, codes.NotFound, "no object")
				time.Sleep(2 * time.Hour) // past the alarm
				if n := s.counter("a"); n != 0 {
					t.Errorf("the counter is %d after the delete", n)
				}
				s.increment("a")
				if n := s.counter("other"); n != 1 {
					t.Errorf("another object's counter is %d", n)
				}
			})
		})
	}
}

// While an object is replaced, its events fail with the reason, and another action is refused.
func TestReplaceHoldsEvents(t *testing.T) {
	t.Parallel()
	operate(t, nil, func(t *testing.T, s *stack) {
		client := s.admin()
		s.increment("a")
		ended := make(chan error, 1)
		go func() {
			_, err := s.call("a", "wait")
			ended <- err
		}()
		synctest.Wait()
		live, err := operator{s.host}.Replace("w-Test", idOf("a"), "being replaced", func() error {
			for range 2 {
				_, err := s.call("a", "wait")
				if e := wantReason(t, err, sidecar.ReasonBroken, "being replaced"); !e.Retryable {
					t.Errorf("the event may be made again: %+v", e)
				}
			}
			if err := <-ended; err == nil {
				t.Error("the event that was under way went on")
			}
			_, err := client.DeleteObject(t.Context(), &dopb.DeleteObjectRequest{Object: ref("a")})
			wantCode(t, err, codes.Aborted, "another action")
			s.increment("b")
			time.Sleep(10 * time.Minute) // longer than any entry lives
			_, err = s.call("a", "wait")
			wantReason(t, err, sidecar.ReasonBroken, "being replaced")
			return nil
		})
		if err != nil || !live {
			t.Errorf("replace: %v, %v", live, err)
		}
		if n := s.counter("a"); n != 1 {
			t.Errorf("the counter is %d", n)
		}
	})
}

func TestAdminRunAlarm(t *testing.T) {
	t.Parallel()
	operate(t, nil, func(t *testing.T, s *stack) {
		ctx, client := t.Context(), s.admin()
		run := func(early bool) (*dopb.RunAlarmResponse, error) {
			return client.RunAlarm(ctx, &dopb.RunAlarmRequest{Object: ref("a"), Early: early})
		}
		_, err := run(true)
		wantCode(t, err, codes.NotFound, "no alarm")
		if _, err := s.call("a", "wake"); err != nil {
			t.Fatal(err)
		}
		_, err = run(false)
		wantCode(t, err, codes.FailedPrecondition, "early")
		r, err := run(true)
		if err != nil || r.GetOutcome() != dopb.AlarmOutcome_ALARM_OUTCOME_OK || r.GetAlarm() != nil ||
			s.counter("a") != 100 {
			t.Errorf("got %v, %v and %d", r, err, s.counter("a"))
		}
		// The next run fails. Its retry needs no early.
		if _, err := s.call("a", "wake"); err != nil {
			t.Fatal(err)
		}
		r, err = run(true)
		if err != nil || r.GetOutcome() != dopb.AlarmOutcome_ALARM_OUTCOME_FAILED || r.GetAlarm().GetRetries() != 1 {
			t.Errorf("a run that fails: %v, %v", r, err)
		}
		wantCode(t, func() error { _, err := run(false); return err }(), codes.FailedPrecondition, "early")
		time.Sleep(time.Hour)
		synctest.Wait()
		got, err := client.GetObject(ctx, &dopb.GetObjectRequest{Object: ref("a")})
		if err != nil || got.GetObject().GetAlarm() != nil {
			t.Errorf("after all retries: %v, %v", got, err)
		}
	})
}

// A run that takes long is not waited for without end.
func TestAdminRunAlarmPending(t *testing.T) {
	t.Parallel()
	slow := func(c *testClass) {
		c.alarm = func(ctx context.Context, _ *testObject, _ durableobject.AlarmInfo) error {
			return pause(ctx, 10*time.Minute)
		}
	}
	operate(t, slow, func(t *testing.T, s *stack) {
		if _, err := s.call("a", "wake"); err != nil {
			t.Fatal(err)
		}
		client := s.admin()
		for _, limit := range []time.Duration{10 * time.Second, time.Hour} {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			r, err := client.RunAlarm(ctx, &dopb.RunAlarmRequest{Object: ref("a"), Early: true})
			if err != nil || r.GetOutcome() != dopb.AlarmOutcome_ALARM_OUTCOME_PENDING || r.GetAlarm() == nil {
				t.Errorf("with %s: %v, %v", limit, r, err)
			}
		}
		// An abort does not count against the alarm's handler.
		if _, err := client.AbortObject(t.Context(), &dopb.AbortObjectRequest{Object: ref("a")}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		got, err := client.GetObject(t.Context(), &dopb.GetObjectRequest{Object: ref("a")})
		if a := got.GetObject().GetAlarm(); err != nil || a.GetRetries() != 1 || a.GetCountedRetries() != 0 {
			t.Errorf("after an abort: %v, %v", got, err)
		}
	})
}

// export returns an object's archive.
func export(t *testing.T, client dopb.AdminServiceClient, name string) []byte {
	t.Helper()
	stream, err := client.ExportObject(t.Context(), &dopb.ExportObjectRequest{Object: ref(name)})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return b.Bytes()
		}
		if err != nil {
			t.Fatal(err)
		}
		b.Write(m.GetData())
	}
}

// importOf makes an object of an archive, in pieces of some size.
func importOf(t *testing.T, client dopb.AdminServiceClient, data []byte, overwrite bool, piece int) (
	*dopb.ImportObjectResponse, error,
) {
	t.Helper()
	stream, err := client.ImportObject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for len(data) > 0 {
		n := min(piece, len(data))
		if stream.Send(&dopb.ImportObjectRequest{Overwrite: overwrite, Data: data[:n]}) != nil {
			break // the reply says why
		}
		data = data[n:]
	}
	return stream.CloseAndRecv()
}

func TestExportAndImport(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 1<<19)
	fill := func(c *testClass) {
		c.methods["fill"] = func(ctx context.Context, o *testObject, _ string) (string, error) {
			for i := range 20 {
				if err := durableobject.Put(ctx, o.state.Storage(), fmt.Sprintf("key\x00%02d\xff", i), large[:i<<14]); err != nil {
					return "", err
				}
			}
			return "", nil
		}
	}
	operate(t, fill, func(t *testing.T, s *stack) {
		client := s.admin()
		s.increment("a")
		for _, method := range []string{"fill", "wake"} {
			if _, err := s.call("a", method); err != nil {
				t.Fatal(err)
			}
		}
		data := export(t, client, "a")
		before, err := client.GetObject(t.Context(), &dopb.GetObjectRequest{Object: ref("a")})
		if err != nil {
			t.Fatal(err)
		}
		_, err = importOf(t, client, data, false, 1000)
		wantCode(t, err, codes.AlreadyExists, "overwrite")
		s.increment("a")
		r, err := importOf(t, client, data, true, 1<<20)
		if err != nil || r.GetKeys() != 21 || !r.GetWasLive() || r.GetObjectName() != "a" || r.GetNamespace() != "w-Test" {
			t.Errorf("overwrite: %v, %v", r, err)
		}
		if n := s.counter("a"); n != 1 {
			t.Errorf("the counter is %d, want that of the export", n)
		}
		if _, err := client.DeleteObject(t.Context(), &dopb.DeleteObjectRequest{Object: ref("a")}); err != nil {
			t.Fatal(err)
		}
		if r, err = importOf(t, client, data, false, 77_777); err != nil || r.GetWasLive() {
			t.Errorf("import: %v, %v", r, err)
		}
		after, err := client.GetObject(t.Context(), &dopb.GetObjectRequest{Object: ref("a")})
		before.Object.Actor = nil
		if diff := cmp.Diff(before, after, protocmp.Transform()); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if again := export(t, client, "a"); !bytes.Equal(again, data) {
			t.Error("the export of what was imported differs")
		}
		time.Sleep(2 * time.Hour)
		if n := s.counter("a"); n != 101 {
			t.Errorf("the counter is %d: the imported alarm did not run once", n)
		}
		_, err = client.DeleteObject(t.Context(), &dopb.DeleteObjectRequest{Object: ref("a")})
		if err != nil {
			t.Fatal(err)
		}
		stream, err := client.ExportObject(t.Context(), &dopb.ExportObjectRequest{Object: ref("a")})
		if err == nil {
			_, err = stream.Recv()
		}
		wantCode(t, err, codes.NotFound, "no object")
	})
}

// A bad archive changes nothing, live or not, with or without overwrite.
func TestImportRefused(t *testing.T) {
	t.Parallel()
	operate(t, nil, func(t *testing.T, s *stack) {
		client := s.admin()
		s.increment("a")
		first := s.serial("a")
		data := export(t, client, "a")
		write := func(h archive.Header, value string) []byte {
			var b bytes.Buffer
			w, err := archive.NewWriter(&b, h)
			if err == nil {
				err = errors.Join(w.Key([]byte("n"), []byte(value)), w.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}
		flipped := bytes.Clone(data)
		flipped[len(flipped)-40] ^= 1
		for name, tt := range map[string]struct {
			data []byte
			code codes.Code
			text string
		}{
			"nothing":         {nil, codes.InvalidArgument, "data"},
			"something else":  {[]byte("hello, this is no archive"), codes.InvalidArgument, "data: not a whole archive"},
			"cut short":       {data[:len(data)-1], codes.InvalidArgument, "ends early"},
			"damaged":         {flipped, codes.InvalidArgument, "data: not a whole archive"},
			"twice":           {append(bytes.Clone(data), data...), codes.InvalidArgument, "after the end"},
			"other namespace": {write(archive.Header{Namespace: "x-Y"}, "v"), codes.NotFound, "no class"},
			"foreign id": {write(archive.Header{Namespace: "w-Test", ID: objectid.ID{1}}, "v"),
				codes.InvalidArgument, "not one of its namespace"},
			"foreign name": {write(archive.Header{Namespace: "w-Test", ID: idOf("a"), Name: "b", HasName: true}, "v"),
				codes.InvalidArgument, "not one of its namespace"},
		} {
			_, err := importOf(t, client, tt.data, true, 1000)
			if s, _ := status.FromError(err); s.Code() != tt.code || !strings.Contains(s.Message(), tt.text) {
				t.Errorf("%s: got %v, want %v with %q", name, err, tt.code, tt.text)
			}
		}
		stream, err := client.ImportObject(t.Context())
		if err == nil {
			err = stream.Send(&dopb.ImportObjectRequest{Data: make([]byte, admin.MaxPieceBytes+1)})
		}
		if err == nil {
			_, err = stream.CloseAndRecv()
		}
		wantCode(t, err, codes.InvalidArgument, "a piece has")
		if s.serial("a") != first || s.counter("a") != 1 {
			t.Error("what was refused has changed the object")
		}
		// While one import is under way, another is refused.
		slow, err := client.ImportObject(t.Context())
		if err == nil {
			err = slow.Send(&dopb.ImportObjectRequest{Data: data[:20]})
		}
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, err = importOf(t, client, data, true, 1000)
		wantCode(t, err, codes.ResourceExhausted, "another import")
		_, err = slow.CloseAndRecv()
		wantCode(t, err, codes.InvalidArgument, "ends early")
	})
}

// A host that drains refuses actions.
func TestAdminDraining(t *testing.T) {
	t.Parallel()
	operate(t, nil, func(t *testing.T, s *stack) {
		s.increment("a")
		s.host.draining.Store(true)
		defer s.host.draining.Store(false)
		client := s.admin()
		_, err := client.DeleteObject(t.Context(), &dopb.DeleteObjectRequest{Object: ref("a")})
		wantCode(t, err, codes.Unavailable, "draining")
		got, err := client.GetObject(t.Context(), &dopb.GetObjectRequest{Object: ref("a")})
		if err != nil || !got.GetHost().GetDraining() {
			t.Errorf("a read: %v, %v", got, err)
		}
	})
}
