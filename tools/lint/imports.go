package lint

import (
	"fmt"
	"path"
	"strings"
)

// layer says what a top-level folder may import of this module, beside itself.
func layers() map[string][]string {
	return map[string][]string{
		"proto":         {},
		"runtime":       {"proto"},
		"worker":        {"proto", "runtime"},
		"durableobject": {"proto", "runtime"},
		"router":        {"proto"},
		"sandbox":       {"proto", "runtime"},
		"tools":         {"proto", "runtime", "worker", "durableobject", "router", "sandbox"},
		"cmd":           {"proto", "runtime", "worker", "durableobject", "router", "sandbox", "tools"},
		"docs":          {"proto", "runtime", "worker", "durableobject", "router", "sandbox"},
		"e2e":           {},
	}
}

// Imports checks the import table: no process imports another, only cmd imports tools, nobody imports e2e, and e2e sees
// the product from outside.
func Imports(f *File) []string {
	var faults []string
	top, _, _ := strings.Cut(f.Dir, "/")
	allowed, ok := layers()[top]
	if !ok {
		return []string{fmt.Sprintf("%s: folder %q is not in the layout; see ARCHITECTURE.md", f.Path, top)}
	}
	for _, imp := range f.Imports() {
		rel, ours := strings.CutPrefix(imp, module+"/")
		if !ours {
			continue
		}
		target, _, _ := strings.Cut(rel, "/")
		if target != top && !underAny(target, allowed) {
			faults = append(faults, fmt.Sprintf("%s: %s may not import %s; what both need belongs to proto or runtime",
				f.Path, top, rel))
		}
	}
	return faults
}

// fence keeps a library within some folders.
type fence struct {
	library string
	within  []string
}

func fences() []fence {
	return []fence{
		{"github.com/cockroachdb/pebble", []string{
			"durableobject/storage", "durableobject/alarm", "router/lease", "tools/traces",
		}},
		{"github.com/dop251/goja", []string{"runtime", "durableobject/jsclass", "sandbox/program"}},
		{"go.opentelemetry.io/otel", []string{"proto/telemetry", "proto/sidecar"}},
		{"go.opentelemetry.io/proto/otlp", []string{"proto/telemetry", "tools/traces"}},
		{"github.com/modelcontextprotocol/go-sdk", []string{
			"worker/mcp", "worker/auth", "durableobject/mcpsession", "e2e",
		}},
		{"github.com/ncruces/go-sqlite3", []string{"worker/directory", "tools/idp", "tools/wranglerstate"}},
		{"github.com/jackc/pgx", []string{"worker/directory"}},
		{"github.com/spf13/cobra", []string{"cmd", "e2e/bench"}},
	}
}

// Fences checks that libraries stay where their concept lives. A test may open an in-memory disk (Pebble's vfs) anywhere in
// its own process.
func Fences(f *File) []string {
	var faults []string
	for _, imp := range f.Imports() {
		for _, fc := range fences() {
			if !under(imp, fc.library) || underAny(f.Dir, fc.within) {
				continue
			}
			if vfs := strings.Contains(imp, "/vfs"); vfs && under(f.Dir, "durableobject") {
				continue
			}
			faults = append(faults, fmt.Sprintf("%s: %s stays within %s", f.Path, imp, strings.Join(fc.within, ", ")))
		}
	}
	return faults
}

// Names checks that a package is named after a concept.
func Names(f *File) []string {
	switch name := f.AST.Name.Name; name {
	case "common", "util", "utils", "helper", "helpers", "types", "manager", "misc", "shared", "lib", "base":
		return []string{fmt.Sprintf("%s: package %q is a drawer; name the concept", f.Path, name)}
	default:
		base := path.Base(f.Dir)
		if f.Test && strings.HasSuffix(name, "_test") || name == "main" || f.Generated || name == base {
			return nil
		}
		if version := len(base) == 2 && base[0] == 'v'; version {
			return nil
		}
		return []string{fmt.Sprintf("%s: package %q stands in folder %q; give them one name", f.Path, name, base)}
	}
}
