package build

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// script is a bundle in the shape that package isolate takes.
type script struct {
	code     string
	exports  []string
	commonJS bool
}

// wrap closes the function that the banner opened: the list of exports that esbuild writes last becomes an object of
// getters, so that a binding that changes is seen to. No line before it moves.
//
// The end has one of three forms: a list, `export default require_x();` for an entry of the CommonJS format, or
// nothing. A string of the script may look like either, but not at the end.
func wrap(esm string) (script, error) {
	const list, single = "\nexport {\n", "\nexport default "
	if at := strings.LastIndex(esm, list); at >= 0 {
		items, rest, closed := strings.Cut(esm[at+len(list):], "\n};\n")
		if closed && rest == "" {
			names, getters, err := exportGetters(items)
			if err != nil {
				return script{}, err
			}
			return script{code: esm[:at] + "\nreturn {" + getters + "\n};\n})", exports: names}, nil
		}
	}
	if at := strings.LastIndex(esm, single); at >= 0 {
		call := esm[at+len(single):]
		if strings.Count(call, "\n") == 1 && strings.HasSuffix(call, "();\n") {
			return script{code: esm[:at] + "\n" + call + "return {};\n})", commonJS: true}, nil
		}
	}
	return script{code: esm + "\nreturn {};\n})"}, nil
}

// exportGetters reads `  local as name,` lines.
func exportGetters(list string) (names []string, getters string, err error) {
	var b strings.Builder
	for line := range strings.SplitSeq(list, "\n") {
		item := strings.TrimSuffix(strings.TrimPrefix(line, "  "), ",")
		local, name, renamed := strings.Cut(item, " as ")
		if !renamed {
			name = local
		}
		if local == "" || name == "" {
			return nil, "", fmt.Errorf("export %q of the bundle can't be read", line)
		}
		plain := name
		if strings.HasPrefix(name, `"`) {
			if plain, err = strconv.Unquote(name); err != nil {
				return nil, "", fmt.Errorf("export %s of the bundle can't be read", name)
			}
		}
		names = append(names, plain)
		fmt.Fprintf(&b, "\n  get %s() { return %s; },", name, local)
	}
	slices.Sort(names)
	return names, b.String(), nil
}

// metafile is what is used of esbuild's report.
type metafile struct {
	inputs  []string // relative to the project, with slashes
	exports []string // sorted
}

func parseMetafile(text string) (metafile, error) {
	var raw struct {
		Inputs  map[string]struct{} `json:"inputs"`
		Outputs map[string]struct {
			EntryPoint string   `json:"entryPoint"`
			Exports    []string `json:"exports"`
		} `json:"outputs"`
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return metafile{}, fmt.Errorf("read the bundler's report: %w", err)
	}
	var m metafile
	for name := range raw.Inputs {
		if !inNamespace(name) {
			m.inputs = append(m.inputs, name)
		}
	}
	for _, out := range raw.Outputs {
		if out.EntryPoint != "" {
			m.exports = out.Exports
		}
	}
	slices.Sort(m.exports)
	return m, nil
}

// inNamespace says whether a name of the report is not a file's but one of a plugin's.
func inNamespace(name string) bool {
	namespace, _, ok := strings.Cut(name, ":")
	return ok && slices.Contains([]string{namespaceHost, namespaceModule, namespaceFound, "(disabled)"}, namespace)
}
