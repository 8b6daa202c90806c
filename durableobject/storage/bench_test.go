package storage

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BenchmarkCommit measures turns of a get and a put that are acknowledged once synced, on the real disk: clients
// wait for their own turn's commit, as an output gate does. "hot" has all clients on one object, whose turns follow
// each other without waiting for the disk; "spread" gives each client an object.
func BenchmarkCommit(b *testing.B) {
	for _, clients := range []int{1, 32, 256} {
		for _, objects := range []string{"hot", "spread"} {
			b.Run(fmt.Sprintf("%s/clients=%d", objects, clients), func(b *testing.B) {
				s := openTest(b, Options{Dir: b.TempDir(), FS: vfs.Default})
				benchmarkCommit(b, s, clients, objects == "hot")
			})
		}
	}
}

// turns is an object whose turns exclude each other.
type turns struct {
	mu sync.Mutex
	o  *Object
}

func (t *turns) run(b *testing.B, key string, value []byte) *Commit {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, _, err := t.o.Get(context.Background(), key, GetOptions{}); err != nil {
		b.Error(err)
	}
	if err := t.o.Put(context.Background(), []Entry{{key, value}}, PutOptions{}); err != nil {
		b.Error(err)
	}
	return t.o.Flush()
}

func benchmarkCommit(b *testing.B, s *Store, clients int, hot bool) {
	objects := make([]*turns, clients)
	for i := range objects {
		objects[i] = &turns{o: named(s, fmt.Sprint("object", i))}
		if hot {
			objects[i] = objects[0]
		}
	}
	value := []byte("a value of some thirty bytes...")
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	var group sync.WaitGroup
	for i := range clients {
		key := fmt.Sprint("key", i)
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := objects[i].run(b, key, value).Wait(context.Background()); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// BenchmarkGet measures reads that find their key, in memory and in tables, and reads that do not.
func BenchmarkGet(b *testing.B) {
	s := openTest(b, Options{})
	o := named(s, "a")
	for i := range 1000 {
		mustPut(b, o, fmt.Sprint("key", i), "a value of some thirty bytes...")
	}
	mustPut(b, o, "hot", "value")
	mustFlush(b, o)
	get := func(key string) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := o.Get(context.Background(), key, GetOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("memory/hit", get("hot"))
	b.Run("memory/miss", get("nothing"))
	if err := s.db.Flush(); err != nil {
		b.Fatal(err)
	}
	b.Run("table/hit", get("hot"))
	b.Run("table/miss", get("nothing"))
	mustPut(b, o, "pending", "v")
	b.Run("pending", get("pending"))
}

// BenchmarkList measures a list of 100 of 1000 keys, from disk alone and merged with pending writes.
func BenchmarkList(b *testing.B) {
	s := openTest(b, Options{})
	o := named(s, "a")
	for i := range 1000 {
		mustPut(b, o, fmt.Sprintf("key%04d", i), "a value of some thirty bytes...")
	}
	mustFlush(b, o)
	list := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			entries, err := o.List(context.Background(), ListOptions{Prefix: "key05"})
			if err != nil || len(entries) != 100 {
				b.Fatal(len(entries), err)
			}
		}
	}
	b.Run("disk", list)
	mustPut(b, o, "key0500", "changed")
	b.Run("merged", list)
}

// BenchmarkObject measures what one idle object costs.
func BenchmarkObject(b *testing.B) {
	s := openTest(b, Options{})
	id := testNamespace.FromName("a")
	b.ReportAllocs()
	for b.Loop() {
		s.Object("worker-SessionClass", id, Hooks{})
	}
}
