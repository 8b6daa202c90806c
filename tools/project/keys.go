package project

// Status says what becomes of a key.
type Status int

const (
	// Supported: tandem does what wrangler does; the Note says where not.
	Supported Status = iota
	// Ignored: the key changes nothing for a Worker on one's own machines.
	Ignored
	// Unavailable: the Worker runs without it; each use of the binding, if it makes one, fails with the Note.
	Unavailable
	// Refused: a project that has the key does not run.
	Refused
)

// String returns the status in lower case.
func (s Status) String() string {
	return [...]string{"supported", "ignored", "unavailable", "refused"}[s]
}

// Scope says what an environment has of a key that stands at the top level.
type Scope int

const (
	// Inherited: the environment has the top level's unless it has its own.
	Inherited Scope = iota
	// Own: the environment has its own or none.
	Own
	// TopLevel: the key stands at the top level only and is for all environments.
	TopLevel
)

// Type says which kinds of values a key takes.
type Type uint16

// The kinds. A key takes all those of its Type.
const (
	String Type = 1 << iota
	Bool
	Number
	Object
	Array
)

// Any is any value but null.
const Any = String | Bool | Number | Object | Array

// Key is one key that wrangler knows.
type Key struct {
	// Path has names with points between, [] for an item of an array and * for any name: durable_objects.bindings[].name.
	// What is below a key that is not Supported has no rows.
	Path   string
	Status Status
	Scope  Scope // of a key at the top level
	Type   Type
	// Values are those that a string may be; empty means any.
	Values []string
	// Required keys must be there where their object is.
	Required bool
	// Binding is where the names of bindings stand below an Unavailable key, such as [].binding.
	Binding string
	// Note is the reason, or what is different here, as a clause without a stop.
	Note string
}

// Keys returns the table. Like wrangler: workers-utils/src/config/validation.ts of August 2026 has these keys and
// scopes.
func Keys() []Key {
	var all []Key
	for _, part := range [][]Key{workerKeys(), buildKeys(), bindingKeys(), classKeys(), unavailableKeys(),
		ignoredKeys(), refusedKeys()} {
		all = append(all, part...)
	}
	return all
}

func workerKeys() []Key {
	return []Key{
		{Path: "name", Type: String,
			Note: "lower-case letters, digits, hyphens and underscores; the directory's name when it is not there"},
		{Path: "compatibility_date", Type: String, Note: "the newest known date when it is not there, with a warning"},
		{Path: "compatibility_flags", Type: Array},
		{Path: "compatibility_flags[]", Type: String, Note: "an unknown flag is an error"},
		{Path: "env", Scope: TopLevel, Type: Object, Note: "chosen by --env or CLOUDFLARE_ENV"},
		{Path: "env.*", Type: Object},
		{Path: "triggers", Type: Object},
		{Path: "triggers.crons", Type: Array},
		{Path: "triggers.crons[]", Type: String, Note: "Cloudflare's dialect: 1 is Sunday; L, W and #; in UTC"},
		{Path: "triggers.events", Status: Refused, Type: Array, Note: "there are no Artifacts events outside Cloudflare"},
		{Path: "dev", Scope: TopLevel, Type: Object},
		{Path: "dev.port", Type: Number, Note: "--port comes first"},
		{Path: "dev.ip", Status: Ignored, Type: String, Note: "only loopback is listened on in development"},
		{Path: "dev.host", Status: Ignored, Type: String, Note: "requests keep their own host"},
		{Path: "dev.local_protocol", Type: String, Values: []string{"http"}, Note: "https is refused"},
		{Path: "dev.upstream_protocol", Status: Ignored, Type: String, Note: "nothing is forwarded to Cloudflare"},
		{Path: "dev.inspector_port", Status: Ignored, Type: Number, Note: "the engine has no inspector"},
		{Path: "dev.inspector_ip", Status: Ignored, Type: String, Note: "the engine has no inspector"},
		{Path: "dev.enable_containers", Status: Ignored, Type: Bool, Note: "there are no containers"},
		{Path: "dev.container_engine", Status: Ignored, Type: Any, Note: "there are no containers"},
		{Path: "dev.generate_types", Status: Ignored, Type: Bool, Note: "types are wrangler's to generate"},
	}
}

func buildKeys() []Key {
	return []Key{
		{Path: "main", Type: String, Note: "a file; the name of a package is an error of the build"},
		{Path: "no_bundle", Type: Bool,
			Note: "the script is bundled all the same, since the engine takes one lowered script; it turns find_additional_modules on"},
		{Path: "rules", Type: Array},
		{Path: "rules[]", Type: Object},
		{Path: "rules[].type", Type: String, Required: true, Values: []string{"ESModule", "CommonJS", "CompiledWasm",
			"Text", "Data"},
			Note: "importing CompiledWasm is an error of the build; Python types are refused"},
		{Path: "rules[].globs", Type: Array, Required: true},
		{Path: "rules[].globs[]", Type: String},
		{Path: "rules[].fallthrough", Type: Bool},
		{Path: "find_additional_modules", Type: Bool, Note: "their files become part of the one script"},
		{Path: "base_dir", Type: String},
		{Path: "define", Scope: Own, Type: Object},
		{Path: "define.*", Type: String},
		{Path: "alias", Scope: TopLevel, Type: Object},
		{Path: "alias.*", Type: String},
		{Path: "tsconfig", Type: String},
		{Path: "jsx_factory", Type: String},
		{Path: "jsx_fragment", Type: String},
		{Path: "keep_names", Type: Bool,
			Note: "false by default, since it costs time for each function that is made; wrangler's default is true"},
		{Path: "build", Type: Object},
		{Path: "build.command", Type: String, Note: "run by sh before the bundling"},
		{Path: "build.cwd", Type: String},
		{Path: "build.watch_dir", Type: String | Array},
		{Path: "build.watch_dir[]", Type: String},
	}
}

func bindingKeys() []Key {
	return []Key{
		{Path: "vars", Scope: Own, Type: Object},
		{Path: "vars.*", Type: Any, Note: ".dev.vars or .env files come first in development"},
		{Path: "secrets", Scope: Own, Type: Object},
		{Path: "secrets.required", Type: Array, Note: "a missing one is a warning in development; a bundle holds names only"},
		{Path: "secrets.required[]", Type: String},
		{Path: "version_metadata", Scope: Own, Type: Object,
			Note: "the ID changes with the script; the tag is empty and the time that of 1970"},
		{Path: "version_metadata.binding", Type: String, Required: true},
		{Path: "services", Scope: Own, Type: Array},
		{Path: "services[]", Type: Object},
		{Path: "services[].binding", Type: String, Required: true},
		{Path: "services[].service", Type: String, Required: true,
			Note: "a Worker of the same `tandem dev`, of another in the same project root, or of a `tandem worker` with the same router"},
		{Path: "services[].entrypoint", Type: String},
		{Path: "services[].environment", Type: String, Note: "the Worker is then the one named `<service>-<environment>`"},
		{Path: "services[].props", Type: Object, Note: "at most 16 KiB"},
		{Path: "services[].remote", Status: Ignored, Type: Bool, Note: "bindings are always local"},
		{Path: "services[].dev", Status: Refused, Type: Object, Note: "Miniflare plugins don't run here"},
		{Path: "kv_namespaces", Scope: Own, Type: Array},
		{Path: "kv_namespaces[]", Type: Object},
		{Path: "kv_namespaces[].binding", Type: String, Required: true},
		{Path: "kv_namespaces[].id", Type: String,
			Note: "two Workers of a stack with one id share a namespace; the binding's name when it is not there"},
		{Path: "kv_namespaces[].preview_id", Type: String, Note: "used in development when it is there"},
		{Path: "kv_namespaces[].remote", Status: Ignored, Type: Bool, Note: "bindings are always local"},
		{Path: "durable_objects", Scope: Own, Type: Object},
		{Path: "durable_objects.bindings", Type: Array, Required: true},
		{Path: "durable_objects.bindings[]", Type: Object},
		{Path: "durable_objects.bindings[].name", Type: String, Required: true},
		{Path: "durable_objects.bindings[].class_name", Type: String, Required: true},
		{Path: "durable_objects.bindings[].script_name", Type: String, Note: "as with `services[].service`"},
		{Path: "durable_objects.bindings[].environment", Type: String,
			Note: "the Worker is then the one named `<script_name>-<environment>`"},
		{Path: "durable_objects.bindings[].remote", Status: Ignored, Type: Bool, Note: "bindings are always local"},
	}
}

func classKeys() []Key {
	storage := []string{"sqlite", "legacy-kv"}
	return []Key{
		{Path: "migrations", Type: Array, Note: "replayed to know the classes and their storage"},
		{Path: "migrations[]", Type: Object},
		{Path: "migrations[].tag", Type: String, Required: true},
		{Path: "migrations[].new_classes", Type: Array},
		{Path: "migrations[].new_classes[]", Type: String},
		{Path: "migrations[].new_sqlite_classes", Type: Array, Note: "storage.sql is not there yet"},
		{Path: "migrations[].new_sqlite_classes[]", Type: String},
		{Path: "migrations[].renamed_classes", Type: Array},
		{Path: "migrations[].renamed_classes[]", Type: Object},
		{Path: "migrations[].renamed_classes[].from", Type: String, Required: true},
		{Path: "migrations[].renamed_classes[].to", Type: String, Required: true},
		{Path: "migrations[].deleted_classes", Type: Array, Note: "the class is not there any more; its objects are kept"},
		{Path: "migrations[].deleted_classes[]", Type: String},
		{Path: "migrations[].transferred_classes", Type: Array,
			Note: "the class is known; objects of the other Worker stay where they are"},
		{Path: "migrations[].transferred_classes[]", Type: Object},
		{Path: "migrations[].transferred_classes[].from", Type: String, Required: true},
		{Path: "migrations[].transferred_classes[].from_script", Type: String, Required: true},
		{Path: "migrations[].transferred_classes[].to", Type: String, Required: true},
		{Path: "exports", Type: Object, Note: "with classes it excludes migrations"},
		{Path: "exports.*", Type: Object},
		{Path: "exports.*.type", Type: String, Required: true, Values: []string{"durable-object", "worker"}},
		{Path: "exports.*.state", Type: String, Values: []string{"created", "deleted", "renamed", "transferred",
			"expecting-transfer"}},
		{Path: "exports.*.storage", Type: String, Values: storage},
		{Path: "exports.*.renamed_to", Type: String},
		{Path: "exports.*.transferred_to", Type: String},
		{Path: "exports.*.transfer_from", Type: String},
		{Path: "exports.*.container", Status: Refused, Type: String, Note: "there are no containers"},
		{Path: "exports.*.cache", Status: Ignored, Type: Object, Note: "there is no cache in front of a Worker"},
	}
}
