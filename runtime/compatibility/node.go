package compatibility

import (
	_ "embed"
	"strings"
)

//go:embed node.txt
var nodeTable string

// NodeModule is a module of Node.js that this version has.
type NodeModule struct {
	// Name is like "node:buffer".
	Name string
	// Flags are those of which one has to be on.
	Flags []string
}

// NodeModules returns all modules of Node.js that this version has. It is the one table of them: of what a bundler
// finds and of what an isolate gives.
func NodeModules() []NodeModule {
	var list []NodeModule
	for line := range strings.Lines(nodeTable) {
		if f := strings.Fields(line); len(f) > 1 && f[0] != "#" {
			list = append(list, NodeModule{Name: "node:" + f[0], Flags: f[1:]})
		}
	}
	return list
}

// On reports whether flags that Resolve gave switch the module on.
func (m NodeModule) On(flags map[string]bool) bool {
	for _, f := range m.Flags {
		if flags[f] {
			return true
		}
	}
	return false
}
