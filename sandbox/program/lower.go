package program

import (
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// engineSupport names what the engine cannot parse, or parses and runs wrongly, so that esbuild writes it
// in other words. Class fields are there for their names: the engine refuses one called get, set or async.
func engineSupport() map[string]bool {
	return map[string]bool{
		"async-generator":      false,
		"class-field":          false,
		"class-static-field":   false,
		"decorators":           false,
		"for-await":            false,
		"hashbang":             false,
		"import-meta":          false,
		"regexp-match-indices": false,
		"regexp-set-notation":  false,
		"using":                false,
	}
}

// tsconfig keeps esbuild from looking for a file, and class fields as JavaScript has them.
const tsconfig = `{"compilerOptions":{"useDefineForClassFields":true}}`

// compileLowered compiles what esbuild makes of a body.
func compileLowered(code string) (*source, error) {
	r := api.Transform(bodyPrefix+code+bodySuffix, api.TransformOptions{
		Loader:         api.LoaderTS,
		Target:         api.ESNext,
		Charset:        api.CharsetUTF8,
		Supported:      engineSupport(),
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		Sourcefile:     sourceName,
		LegalComments:  api.LegalCommentsNone,
		TsconfigRaw:    tsconfig,
		LogLevel:       api.LogLevelSilent,
		LogLimit:       1,
	})
	if len(r.Errors) > 0 {
		return nil, authorsError(r.Errors[0], code, len(bodyPrefix))
	}
	return compileOutput(string(r.Code), r.Map, len(bodyPrefix))
}

// exportBlock is how esbuild ends a module: one list of names, whatever the author wrote.
var exportBlock = regexp.MustCompile(`(?s)\nexport \{\n(.*?)\n\};\n*$`)

// compileModule compiles a module. Its default export is the result, or is called for it.
func compileModule(code string) (*source, error) {
	r := api.Build(api.BuildOptions{
		Stdin:          &api.StdinOptions{Contents: code, Sourcefile: sourceName, Loader: api.LoaderTS},
		Bundle:         true,
		Format:         api.FormatESModule,
		Platform:       api.PlatformNeutral,
		Target:         api.ESNext,
		Charset:        api.CharsetUTF8,
		Supported:      engineSupport(),
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		Outfile:        "/" + sourceName + ".js",
		Banner:         map[string]string{"js": bodyPrefix + `"use strict";`},
		LegalComments:  api.LegalCommentsNone,
		TsconfigRaw:    tsconfig,
		LogLevel:       api.LogLevelSilent,
		LogLimit:       1,
		Plugins:        []api.Plugin{noImports()},
	})
	if len(r.Errors) > 0 {
		return nil, authorsError(r.Errors[0], code, 0)
	}
	var output string
	var sourceMap []byte
	for _, f := range r.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			sourceMap = f.Contents
		} else {
			output = string(f.Contents)
		}
	}
	if block := exportBlock.FindStringSubmatchIndex(output); block != nil {
		names := output[block[2]:block[3]]
		output = output[:block[0]]
		for name := range strings.SplitSeq(names, ",") {
			if local, ok := strings.CutSuffix(strings.TrimSpace(name), " as default"); ok {
				output += "\nreturn typeof " + local + ` === "function" ? ` + local + "(tools) : " + local + ";"
			}
		}
	}
	return compileOutput(output+bodySuffix, sourceMap, 0)
}

// noImports refuses every import: there is nothing to import from, and nothing is looked for on disk.
func noImports() api.Plugin {
	return api.Plugin{Name: "no-imports", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			if a.Kind == api.ResolveEntryPoint {
				return api.OnResolveResult{}, nil
			}
			return api.OnResolveResult{Errors: []api.Message{{
				Text: "cannot import \"" + a.Path + "\": a program has no modules, only its globals",
			}}}, nil
		})
	}}
}

func compileOutput(output string, sourceMap []byte, shift int) (*source, error) {
	output += "\n//# sourceMappingURL=data:application/json;base64," + base64.StdEncoding.EncodeToString(sourceMap)
	p, err := compileBody(sourceName, output, true)
	if err != nil {
		return nil, err
	}
	return &source{program: p, shift: shift}, nil
}

// authorsError moves a message of esbuild to its place in the author's text. What is found behind the
// end, such as a brace that is missing, is said of the last line.
func authorsError(m api.Message, code string, shift int) *syntaxError {
	e := &syntaxError{message: m.Text}
	if m.Location == nil {
		return e
	}
	e.line, e.column = m.Location.Line, m.Location.Column+1
	if e.line == 1 {
		e.column = max(1, e.column-shift)
	}
	if lines := strings.Count(code, "\n") + 1; e.line > lines {
		e.line, e.column = lines, len(code)-strings.LastIndexByte(code, '\n')
		e.message = "Unexpected end of input"
	}
	return e
}
