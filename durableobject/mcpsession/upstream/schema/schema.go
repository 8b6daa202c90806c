package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/retain"
)

// Schema is a schema that is ready to check arguments. A nil *Schema accepts every object.
type Schema struct {
	resolved *jsonschema.Resolved
	// work is what each value of the arguments may take, in weights of rewrite.
	work int
	// bytes is about how much memory it takes: how long it was when it was compiled, and its patterns.
	bytes int
}

// Compile makes a schema ready. It fails for what is no JSON Schema, and for one that is too large once its references
// are put in place.
func Compile(text []byte) (*Schema, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	flat, work, err := rewrite(root)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	text, err = json.Marshal(flat)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	resolved, err := resolved(&s)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &Schema{resolved: resolved, work: work, bytes: len(text) + work*stepBytes}, nil
}

// resolved is Resolve without its panics: the schema is a stranger's.
func resolved(s *jsonschema.Schema) (r *jsonschema.Resolved, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("compile: %v", v)
		}
	}()
	return s.Resolve(nil)
}

// stepBytes is what an instruction of a pattern takes in memory.
const stepBytes = 64

// maxWork bounds a check: the schema's weight times that of the arguments. It is about half a second's work at worst.
const maxWork = 500_000

// Check says what is wrong with arguments, which json.Unmarshal has read into an any. It accepts what would take too
// long to check.
func (s *Schema) Check(arguments any) (err error) {
	if _, ok := arguments.(map[string]any); !ok {
		return errors.New("an object is needed")
	}
	if s == nil || weight(arguments) > maxWork/s.work {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = nil // the source will judge
		}
	}()
	return s.resolved.Validate(arguments)
}

// maxCachedBytes bounds the schemas in a Cache, as they were compiled.
const maxCachedBytes = 8 << 20

// Cache keeps compiled schemas by their text, within a bound on their size.
type Cache struct {
	known *retain.Cache[[sha256.Size]byte, entry]
}

// entry is a schema or why there is none.
type entry struct {
	schema *Schema
	err    error
}

// weight says about how much memory an entry takes, in bytes.
func (e entry) weight() int {
	const least = 1 << 10
	if e.schema == nil {
		return least
	}
	return least + e.schema.bytes
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{retain.New[[sha256.Size]byte, entry](maxCachedBytes)} }

// Compile is the function Compile, but compiles a text once while it is kept.
func (c *Cache) Compile(text []byte) (*Schema, error) {
	key := sha256.Sum256(text)
	e, ok := c.known.Get(key)
	if !ok {
		e.schema, e.err = Compile(text)
		c.known.Add(key, e, e.weight())
	}
	return e.schema, e.err
}
