package compatibility_test

import (
	"regexp"
	"testing"

	"github.com/tandem-do/tandem/runtime/compatibility"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	date := regexp.MustCompile(`^20[0-9]{2}-[0-9]{2}-[0-9]{2}$`)
	names := map[string]bool{}
	for _, f := range compatibility.Flags() {
		for _, name := range []string{f.Name, f.Off} {
			if names[name] {
				t.Errorf("%q is there twice", name)
			}
			names[name] = name != ""
		}
		if f.Since != "" && !date.MatchString(f.Since) {
			t.Errorf("%s is on since %q", f.Name, f.Since)
		}
	}
	for _, f := range compatibility.Flags() {
		for _, i := range f.Implied {
			if !names[i.By] || !date.MatchString(i.Since) {
				t.Errorf("%s is implied by %+v", f.Name, i)
			}
		}
	}
	if len(names) < 300 {
		t.Errorf("%d names", len(names))
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		date  string
		flags []string
		name  string
		want  bool
	}{
		{"2024-04-02", nil, "rpc", false},
		{"2024-04-03", nil, "rpc", true},
		{"2026-04-01", []string{"no_rpc"}, "rpc", false},
		{"", []string{"rpc"}, "rpc", true},
		{"", []string{"rpc", "no_rpc"}, "rpc", false},
		{"2024-09-22", []string{"nodejs_compat"}, "nodejs_compat_v2", false},
		{"2024-09-23", []string{"nodejs_compat"}, "nodejs_compat_v2", true},
		{"2024-09-23", nil, "nodejs_compat_v2", false},
		{"2026-08-04", nil, "nodejs_compat_v2", true},
		{"2026-08-04", []string{"no_nodejs_compat"}, "nodejs_compat", false},
		{"2025-09-01", []string{"nodejs_compat"}, "enable_nodejs_http_server_modules", true}, // implied by what is implied
		{"2025-09-01", []string{"nodejs_compat", "disable_nodejs_http_modules"}, "enable_nodejs_http_server_modules", false},
		{"2025-04-01", []string{"nodejs_compat", "nodejs_compat_do_not_populate_process_env"}, "nodejs_compat_populate_process_env", false},
	} {
		got, known := compatibility.Resolve(tc.date, tc.flags)[tc.name]
		if got != tc.want || !known {
			t.Errorf("%s with %q: %s is %v, want %v", tc.date, tc.flags, tc.name, got, tc.want)
		}
	}
}

func TestNodeModules(t *testing.T) {
	t.Parallel()
	flags := map[string]bool{}
	for _, f := range compatibility.Flags() {
		flags[f.Name] = true
	}
	seen := map[string]bool{}
	for _, m := range compatibility.NodeModules() {
		if seen[m.Name] {
			t.Errorf("%s is there twice", m.Name)
		}
		seen[m.Name] = true
		for _, name := range m.Flags {
			if !flags[name] {
				t.Errorf("%s depends on the flag %q, which there is not", m.Name, name)
			}
		}
		if m.On(map[string]bool{}) || !m.On(map[string]bool{m.Flags[0]: true}) {
			t.Errorf("%s does not depend on %q", m.Name, m.Flags)
		}
	}
}
