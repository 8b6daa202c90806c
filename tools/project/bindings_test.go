package project

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/runtime/bundle"
)

func TestWriteBindings(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("ü", 100) + `"`
	m := &bundle.Manifest{
		Name: "api",
		DurableObjects: []bundle.DurableObject{
			{Binding: "ROOM", Class: "Room", Script: "api"}, {Binding: "OTHER", Class: "Far", Script: "chat"},
		},
		KV:          []bundle.KV{{Binding: "CACHE", ID: "abc"}},
		Services:    []bundle.Service{{Binding: "AUTH", Worker: "auth"}, {Binding: "ADMIN", Worker: "auth", Entrypoint: "Admin"}},
		Vars:        []bundle.Var{{Name: "MODE", Value: json.RawMessage(`"dev"`)}, {Name: "LONG", Value: json.RawMessage(long)}, {Name: "TOKEN"}},
		Unavailable: []bundle.Unavailable{{Binding: "DB", Key: "d1_databases", Reason: "D1 databases are not yet there"}},
	}
	var out strings.Builder
	if err := WriteBindings(&out, m, map[string]string{"TOKEN": "hunter2", "A": "hunter3"}); err != nil {
		t.Fatal(err)
	}
	want := `api has access to these bindings:
  env.ROOM (Room)                                                           Durable Object   local
  env.OTHER (Far, defined in chat)                                          Durable Object   local
  env.CACHE (abc)                                                           KV namespace     local
  env.AUTH (auth)                                                           Worker           local
  env.ADMIN (auth#Admin)                                                    Worker           local
  env.MODE ("dev")                                                          variable         local
  env.LONG ("` + strings.Repeat("ü", 58) + `…)   variable         local
  env.A (hidden)                                                            secret           local
  env.TOKEN (hidden)                                                        secret           local
  env.DB                                                                    d1_databases     not available: D1 databases are not yet there
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := WriteBindings(&out, &bundle.Manifest{Name: "bare"}, nil); err != nil || out.Len() != 0 {
		t.Errorf("got %q, %v", out.String(), err)
	}
}
