package isolate

import "github.com/dop251/goja"

// Opaque makes its embedder a goja.DynamicObject that the engine can carry and no script can look into.
type Opaque struct{}

var _ goja.DynamicObject = Opaque{}

// Get implements goja.DynamicObject.
func (Opaque) Get(string) goja.Value { return nil }

// Set implements goja.DynamicObject.
func (Opaque) Set(string, goja.Value) bool { return false }

// Has implements goja.DynamicObject.
func (Opaque) Has(string) bool { return false }

// Delete implements goja.DynamicObject.
func (Opaque) Delete(string) bool { return false }

// Keys implements goja.DynamicObject.
func (Opaque) Keys() []string { return nil }
