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
	// bytes is how long it was when it was compiled, which says about how much memory it takes.
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
	flat, err := rewrite(root)
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
	return &Schema{resolved: resolved, bytes: len(text)}, nil
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

// Check says what is wrong with arguments, which json.Unmarshal has read into an any.
func (s *Schema) Check(arguments any) (err error) {
	if _, ok := arguments.(map[string]any); !ok {
		return errors.New("an object is needed")
	}
	if s == nil {
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
