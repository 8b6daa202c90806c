package build

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/tandem-do/tandem/runtime/compatibility"
)

// Mode is what a script is built for.
type Mode string

const (
	// Development is the default.
	Development Mode = "development"
	// Production is for a bundle file.
	Production Mode = "production"
)

// ModuleType says what a file is that a rule names.
type ModuleType string

// The types that wrangler has. Text is a string, Data an ArrayBuffer; both are the module's default export.
const (
	ESModule     ModuleType = "ESModule"
	CommonJS     ModuleType = "CommonJS"
	CompiledWasm ModuleType = "CompiledWasm"
	Text         ModuleType = "Text"
	Data         ModuleType = "Data"
)

// ModuleTypes returns all types.
func ModuleTypes() []ModuleType { return []ModuleType{ESModule, CommonJS, CompiledWasm, Text, Data} }

// Rule says of which type the files are that match a glob. An asterisk in a glob matches anything, slashes too.
type Rule struct {
	Type  ModuleType
	Globs []string
	// Fallthrough lets later rules of the same type apply too. Nil means no, with a warning if that drops one.
	Fallthrough *bool
}

// Options say what to build and how. Dir and Entry are required.
type Options struct {
	// Dir is the project's directory, where its configuration is: an absolute path.
	Dir string
	// Entry is the script's main file: an absolute path.
	Entry string
	// Mode decides process.env.NODE_ENV; empty means Development.
	Mode Mode
	// NodeEnv replaces the mode in process.env.NODE_ENV.
	NodeEnv string
	// CompatibilityDate and CompatibilityFlags are the Worker's. They decide which node: modules may be imported.
	CompatibilityDate  string
	CompatibilityFlags []string
	// Define replaces global expressions by JavaScript expressions.
	Define map[string]string
	// Alias replaces imported names, each by a name or a path that is relative to Dir.
	Alias map[string]string
	// Rules stand before the default ones.
	Rules []Rule
	// BaseDir is where additional modules are looked for, an absolute path; empty means the entry's directory.
	BaseDir string
	// FindAdditionalModules makes the files under BaseDir that a rule names importable by a computed name.
	FindAdditionalModules bool
	// TSConfig is the path of a tsconfig.json instead of the nearest one.
	TSConfig string
	// JSXFactory and JSXFragment replace React.createElement and React.Fragment.
	JSXFactory, JSXFragment string
	// KeepNames keeps the names of functions and classes that esbuild has to rename, at a cost for each function.
	KeepNames bool
	// VersionMetadata is the name of a binding that tells of the script's version, or empty.
	VersionMetadata string
}

func (o *Options) validate() error {
	var errs []error
	if !filepath.IsAbs(o.Dir) {
		errs = append(errs, fmt.Errorf("Dir %q is not absolute", o.Dir))
	}
	if !filepath.IsAbs(o.Entry) {
		errs = append(errs, fmt.Errorf("Entry %q is not absolute", o.Entry))
	}
	if o.BaseDir != "" && !filepath.IsAbs(o.BaseDir) {
		errs = append(errs, fmt.Errorf("BaseDir %q is not absolute", o.BaseDir))
	}
	for _, r := range o.Rules {
		if !slices.Contains(ModuleTypes(), r.Type) {
			errs = append(errs, fmt.Errorf("rule of type %q", r.Type))
		}
	}
	return errors.Join(errs...)
}

// hasNavigator says whether the script has a global navigator.
func (o *Options) hasNavigator() bool {
	return compatibility.Resolve(o.CompatibilityDate, o.CompatibilityFlags)["global_navigator"]
}
