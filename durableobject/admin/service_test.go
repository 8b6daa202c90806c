package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tandem-do/tandem/durableobject/storage"
	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/v8value"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

func openStore(t testing.TB) *storage.Store {
	t.Helper()
	s, err := storage.Open(storage.Options{Dir: "store", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// put gives an object keys.
func put(t testing.TB, s *storage.Store, namespace, name string, keys map[string][]byte) *storage.Commit {
	t.Helper()
	o := s.Object(namespace, objectid.NewNamespace(namespace).FromName(name), storage.Hooks{})
	o.SetName(name)
	var entries []storage.Entry
	for key, value := range keys {
		entries = append(entries, storage.Entry{Key: key, Value: value})
	}
	if err := o.Put(t.Context(), entries, storage.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	return o.Flush()
}

func serialized(t testing.TB, v any) []byte {
	t.Helper()
	b, err := v8value.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ref(namespace, name string) *dopb.ObjectRef {
	return &dopb.ObjectRef{Namespace: namespace, Object: &dopb.ObjectRef_ObjectName{ObjectName: name}}
}

// Ten thousand objects come in pages, each once and in order, and no page costs more memory than its size.
func TestPagesOfObjects(t *testing.T) { // measures memory, so it is alone
	s := openStore(t)
	const keys = 30
	objects := 10_000
	if raceDetector {
		objects = 2000
	}
	var last *storage.Commit
	state := map[string][]byte{}
	for i := range keys {
		state[fmt.Sprintf("key%d", i)] = bytes.Repeat([]byte("x"), 100)
	}
	for i := range objects {
		last = put(t, s, "w-Many", fmt.Sprint(i), state)
	}
	put(t, s, "w-Next", "x", state)
	if err := last.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	service := New(s, nil)
	names, err := service.ListNamespaces(t.Context(), &dopb.ListNamespacesRequest{})
	if err != nil || len(names.GetNamespaces()) != 2 || names.GetNamespaces()[0].GetObjects() != maxCount ||
		!names.GetNamespaces()[0].GetMoreObjects() || names.GetNamespaces()[1].GetMoreObjects() {
		t.Fatalf("namespaces: %v, %v", names, err)
	}
	for _, size := range []int32{0, 1, 333, maxObjects} {
		q := &dopb.ListObjectsRequest{Namespace: "w-Many", PageSize: size}
		limit := uint64(256<<10 + 2048*size)
		seen, pages, most := 0, 0, uint64(0)
		var previous []byte
		for {
			var page *dopb.ListObjectsResponse
			cost := ^uint64(0)
			for n := 0; n == 0 || cost > limit && !raceDetector && n < 1000; n++ { // the store compacts meanwhile
				before := allocated()
				if page, err = service.ListObjects(t.Context(), q); err != nil {
					t.Fatal(err)
				}
				cost = min(cost, allocated()-before)
			}
			most = max(most, cost)
			pages++
			for _, o := range page.GetObjects() {
				seen++
				if bytes.Compare(o.GetObjectId(), previous) <= 0 || o.GetKeys() != keys || o.ObjectName == nil {
					t.Fatalf("object %v after %x", o, previous)
				}
				previous = o.GetObjectId()
			}
			if q.PageToken = page.GetNextPageToken(); q.PageToken == "" || size == 1 && pages == 10 {
				break
			}
		}
		if size != 1 && seen != objects {
			t.Errorf("pages of %d: %d objects", size, seen)
		}
		if most > limit && !raceDetector {
			t.Errorf("a page of %d allocates %d bytes, want at most %d", size, most, limit)
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// An object's keys come in pages by number, and by what they weigh.
func TestPagesOfKeys(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	state := map[string][]byte{"zz": {0xff, 0x0f, '?'}, "\xff": nil}
	for i := range 2500 {
		state[fmt.Sprintf("k%04d", i)] = serialized(t, map[string]any{"n": i})
	}
	if err := put(t, s, "w-Many", "a", state).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	service := New(s, nil)
	var want []string
	for key := range state {
		want = append(want, key)
	}
	slices.Sort(want)
	walk := func(q *dopb.ListKeysRequest) (keys []*dopb.KeyInfo, pages int) {
		t.Helper()
		for {
			page, err := service.ListKeys(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			keys, pages = append(keys, page.GetKeys()...), pages+1
			if q.StartAfter, q.PageToken = nil, page.GetNextPageToken(); q.PageToken == "" {
				return keys, pages
			}
		}
	}
	for size, wantPages := range map[int32]int{0: 26, 1000: 3, 2: 1251} {
		keys, pages := walk(&dopb.ListKeysRequest{Object: ref("w-Many", "a"), PageSize: size})
		var got []string
		for _, k := range keys {
			got = append(got, string(k.GetKey()))
		}
		if !slices.Equal(got, want) || pages != wantPages {
			t.Errorf("pages of %d: %d keys in %d pages", size, len(got), pages)
		}
	}
	keys, _ := walk(&dopb.ListKeysRequest{Object: ref("w-Many", "a"), Prefix: []byte("k1"), StartAfter: []byte("k1998")})
	if len(keys) != 1 || string(keys[0].GetKey()) != "k1999" || keys[0].GetPreview() != "{n: 1999}" ||
		keys[0].GetType() != "object" {
		t.Errorf("by prefix: %v", keys)
	}
	keys, _ = walk(&dopb.ListKeysRequest{Object: ref("w-Many", "a"), Prefix: []byte("zz")})
	if len(keys) != 1 || keys[0].GetType() != "bytes" || keys[0].GetPreview() != "ff0f3f" || keys[0].GetPreviewCut() {
		t.Errorf("a value that is none: %v", keys)
	}
	got, err := service.GetObject(t.Context(), &dopb.GetObjectRequest{Object: ref("w-Many", "a")})
	if err != nil || got.GetObject().GetKeys() != maxCount ||
		!got.GetObject().GetMoreKeys() || !got.GetHost().GetAtRest() {
		t.Errorf("got %v, %v", got, err)
	}
}

// A page of large values ends early, and a value that is too large to decode is shown as bytes.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	for i, size := range []int{maxDecodedBytes + 1, 15 << 20, 15 << 20, 15 << 20, 10} {
		c := put(t, s, "w-Large", "a", map[string][]byte{fmt.Sprint(i): serialized(t, strings.Repeat("x", size))})
		if err := c.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	service := New(s, nil)
	q := &dopb.ListKeysRequest{Object: ref("w-Large", "a"), PreviewBytes: 7}
	var sizes []int
	for {
		page, err := service.ListKeys(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page.GetKeys()))
		for _, k := range page.GetKeys() {
			if large := k.GetSize() > maxDecodedBytes; !k.GetPreviewCut() || large != (k.GetType() == "bytes") ||
				large && k.GetPreview() != "ff0f2285" && !strings.HasPrefix(k.GetPreview(), "ff0f22") {
				t.Errorf("key %s of %d bytes: %s %q", k.GetKey(), k.GetSize(), k.GetType(), k.GetPreview())
			}
		}
		if q.PageToken = page.GetNextPageToken(); q.PageToken == "" {
			break
		}
	}
	if !slices.Equal(sizes, []int{3, 2}) {
		t.Errorf("pages of %v keys, want 3 and 2", sizes)
	}
}

// Every bad field is named.
func TestValidation(t *testing.T) {
	t.Parallel()
	s := New(openStore(t), nil)
	ctx, long := t.Context(), strings.Repeat("x", 70_000)
	a := ref("w-A", "a")
	type refusal struct {
		name, field string
		err         error
	}
	namespaces := func(q *dopb.ListNamespacesRequest) error { _, err := s.ListNamespaces(ctx, q); return err }
	objects := func(q *dopb.ListObjectsRequest) error { _, err := s.ListObjects(ctx, q); return err }
	object := func(o *dopb.ObjectRef) error {
		_, err := s.GetObject(ctx, &dopb.GetObjectRequest{Object: o})
		return err
	}
	keys := func(q *dopb.ListKeysRequest) error { _, err := s.ListKeys(ctx, q); return err }
	wait := func(d *durationpb.Duration) error { _, err := waitOf(d); return err }
	for _, r := range []refusal{
		{"negative page", "page_size", namespaces(&dopb.ListNamespacesRequest{PageSize: -1})},
		{"large page", "page_size", namespaces(&dopb.ListNamespacesRequest{PageSize: 101})},
		{"foreign token", "page_token", namespaces(&dopb.ListNamespacesRequest{PageToken: token(tokenKeys, "x")})},
		{"no token", "page_token", namespaces(&dopb.ListNamespacesRequest{PageToken: "%%%"})},
		{"no namespace", "namespace", objects(&dopb.ListObjectsRequest{})},
		{"NUL", "namespace", objects(&dopb.ListObjectsRequest{Namespace: "a\x00b"})},
		{"long namespace", "namespace", objects(&dopb.ListObjectsRequest{Namespace: strings.Repeat("n", 513)})},
		{"large page", "page_size", objects(&dopb.ListObjectsRequest{Namespace: "w-A", PageSize: 1001})},
		{"short token", "page_token", objects(&dopb.ListObjectsRequest{
			Namespace: "w-A", PageToken: token(tokenObjects, "x"),
		})},
		{"no object", "object", object(nil)},
		{"no namespace", "object.namespace", object(ref("", "a"))},
		{"neither", "object", object(&dopb.ObjectRef{Namespace: "w-A"})},
		{"short id", "object.object_id", object(&dopb.ObjectRef{
			Namespace: "w-A", Object: &dopb.ObjectRef_ObjectId{ObjectId: make([]byte, 31)},
		})},
		{"long name", "object.object_name", object(ref("w-A", long))},
		{"no object", "object", keys(&dopb.ListKeysRequest{})},
		{"long prefix", "prefix", keys(&dopb.ListKeysRequest{Object: a, Prefix: []byte(long)})},
		{"long start", "start_after", keys(&dopb.ListKeysRequest{Object: a, StartAfter: []byte(long)})},
		{"large page", "page_size", keys(&dopb.ListKeysRequest{Object: a, PageSize: 1001})},
		{"preview", "preview_bytes", keys(&dopb.ListKeysRequest{Object: a, PreviewBytes: maxPreviewBytes + 1})},
		{"long token", "page_token", keys(&dopb.ListKeysRequest{Object: a, PageToken: strings.Repeat("a", 100_000)})},
		{"both starts", "start_after", keys(&dopb.ListKeysRequest{
			Object: a, PageToken: token(tokenKeys, "x"), StartAfter: []byte("x"),
		})},
		{"negative wait", "wait", wait(durationpb.New(-1))},
		{"long wait", "wait", wait(durationpb.New(MaxWait + 1))},
		{"bad wait", "wait", wait(&durationpb.Duration{Seconds: 1, Nanos: -1})},
	} {
		st, _ := status.FromError(r.err)
		if st.Code() != codes.InvalidArgument || !strings.HasPrefix(st.Message(), r.field+": ") {
			t.Errorf("%s: got %v, want INVALID_ARGUMENT for %s", r.name, r.err, r.field)
		}
	}
}

// At rest there is nothing to act on.
func TestAtRest(t *testing.T) {
	t.Parallel()
	s := New(openStore(t), nil)
	ctx, a := t.Context(), ref("w-A", "a")
	_, evict := s.EvictObject(ctx, &dopb.EvictObjectRequest{Object: a})
	_, abort := s.AbortObject(ctx, &dopb.AbortObjectRequest{Object: a})
	_, remove := s.DeleteObject(ctx, &dopb.DeleteObjectRequest{Object: a})
	_, run := s.RunAlarm(ctx, &dopb.RunAlarmRequest{Object: a})
	for i, err := range []error{evict, abort, remove, run} {
		if status.Code(err) != codes.FailedPrecondition {
			t.Errorf("action %d: %v", i, err)
		}
	}
	err := s.Export(ctx, &dopb.ExportObjectRequest{Object: a}, func([]byte) error { return nil })
	if status.Code(err) != codes.NotFound {
		t.Errorf("export of nothing: %v", err)
	}
}

// An export ends with its reader.
func TestExportEnds(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	if err := put(t, s, "w-A", "a", map[string][]byte{"k": make([]byte, 3<<20)}).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	var sent []int
	err := New(s, nil).Export(t.Context(), &dopb.ExportObjectRequest{Object: ref("w-A", "a")}, func(b []byte) error {
		sent = append(sent, len(b))
		if len(sent) == 2 {
			return gone
		}
		return nil
	})
	if !errors.Is(err, gone) || slices.Max(sent) > MaxPieceBytes {
		t.Errorf("got %v after pieces of %v bytes", err, sent)
	}
}

// Only the host's own machine is let in.
func TestPeers(t *testing.T) {
	t.Parallel()
	s := New(openStore(t), nil)
	for address, want := range map[net.Addr]codes.Code{
		&net.UnixAddr{Name: "/x.sock"}:             codes.OK,
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}:   codes.OK,
		&net.TCPAddr{IP: net.IPv6loopback}:         codes.OK,
		&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}:    codes.PermissionDenied,
		&net.TCPAddr{IP: net.IPv4(203, 0, 113, 9)}: codes.PermissionDenied,
		&net.TCPAddr{IP: net.ParseIP("fe80::1")}:   codes.PermissionDenied,
		&net.TCPAddr{}:                             codes.PermissionDenied,
	} {
		ctx := peer.NewContext(context.Background(), &peer.Peer{Addr: address})
		if _, err := s.ListNamespaces(ctx, &dopb.ListNamespacesRequest{}); status.Code(err) != want {
			t.Errorf("%v: got %v, want %v", address, err, want)
		}
		if want == codes.OK {
			continue
		}
		_, remove := s.DeleteObject(ctx, &dopb.DeleteObjectRequest{Object: ref("w-A", "a")})
		_, keys := s.ListKeys(ctx, &dopb.ListKeysRequest{Object: ref("w-A", "a")})
		_, get := s.GetObject(ctx, &dopb.GetObjectRequest{Object: ref("w-A", "a")})
		_, list := s.ListObjects(ctx, &dopb.ListObjectsRequest{Namespace: "w-A"})
		for i, err := range []error{remove, keys, get, list} {
			if status.Code(err) != codes.PermissionDenied {
				t.Errorf("%v, method %d: %v", address, i, err)
			}
		}
	}
}
