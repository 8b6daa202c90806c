package isolate

import (
	"embed"
	"fmt"
	"strings"
	"sync"

	"github.com/dop251/goja"
)

// Scripts returns what compiles the host's own scripts, by name: those of the directory prelude in files, each once a
// process when it is first used, since most Workers need few. In stack traces they have the name behind the kind, which
// may be empty. It may be called from any goroutine, and so may what it returns.
func Scripts(files embed.FS, kind string) map[string]func() (*goja.Program, error) {
	const dir = "prelude"
	list, err := files.ReadDir(dir)
	if err != nil {
		return nil // the files are embedded
	}
	out := map[string]func() (*goja.Program, error){}
	for _, f := range list {
		name := strings.TrimSuffix(f.Name(), ".js")
		out[name] = sync.OnceValues(func() (*goja.Program, error) {
			code, err := files.ReadFile(dir + "/" + f.Name())
			if err != nil {
				return nil, fmt.Errorf("read the prelude: %w", err)
			}
			p, err := goja.Compile(internalPrefix+kind+name, string(code), true)
			if err != nil {
				return nil, fmt.Errorf("compile the prelude's %s: %w", name, err)
			}
			return p, nil
		})
	}
	return out
}
