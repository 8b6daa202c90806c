package wranglerstate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/proto/objectid"
)

// checkRecorded checks what testdata/record/record.mjs has stored. Names differ: miniflare notes them for SQLite classes,
// workerd for those objects that have an alarm.
func checkRecorded(t *testing.T, i imported, names map[string]string) {
	t.Helper()
	s := i.store()
	hello := map[string]string{"greeting": v8(t, "hello")}
	none := map[string]string{}
	for _, want := range []struct {
		class, name string
		state       state
	}{
		{"Room", "alarm only", state{Alarm: later().UnixMilli(), Values: none}},
		{"Room", "unset", state{Values: hello}},
		{"Room", "touched", state{Values: none}},
		{"Ledger", "värde 😀", state{Alarm: later().UnixMilli(), Values: hello}},
		{"Ledger", "tables and values", state{Values: hello}},
		{"Ledger", "tables", state{Values: none}},
	} {
		want.state.Name = names[want.name]
		namespace := "recorded-" + want.class
		got := stateOf(t, s, namespace, objectid.NewNamespace(namespace).FromName(want.name))
		if diff := cmp.Diff(want.state, got); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", namespace, want.name, diff)
		}
	}
	values := stateOf(t, s, "recorded-Room", objectid.NewNamespace("recorded-Room").FromName("values"))
	compareRecorded(t, values.Values)
	if values.Alarm != later().UnixMilli() || values.Name != names["values"] {
		t.Errorf("object of the values: alarm %d, name %q", values.Alarm, values.Name)
	}
	for namespace, want := range map[string]int{"recorded-Room": 4, "recorded-Ledger": 3} {
		ids, err := s.Objects(namespace, nil, 0)
		if err != nil || len(ids) != want {
			t.Errorf("%s has %d objects, %v, want %d", namespace, len(ids), err, want)
		}
	}
}

// What wrangler 4.86.0 wrote. It all lies in write-ahead logs, and the alarm table has two columns.
func TestWrangler(t *testing.T) {
	t.Parallel()
	i := doImport(t, "testdata/wrangler", t.TempDir(), nil).ok()
	checkRecorded(t, i, map[string]string{"värde 😀": "värde 😀", "tables and values": "tables and values"})
	want := `recorded-Ledger (v3/do/recorded-Ledger)
  4 objects: 3 imported, 1 with SQL tables alone
  imported: 3 keys of 51 bytes, 1 alarm, 2 names
  not importable yet: SQL tables of 2 objects: messages (4 rows)
recorded-Room (v3/do/recorded-Room)
  5 objects: 4 imported, 1 empty
  imported: 49 keys of 4615 bytes, 2 alarms, 0 names
imported 7 objects, 4666 bytes
`
	if diff := cmp.Diff(want, i.text()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
