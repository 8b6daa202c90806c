// Package v8value reads and writes the structured-clone format of V8, version 15, in Go and without an engine.
package v8value

// Marshal serializes a Go value.
func Marshal(v any) ([]byte, error) { panic("not built yet") }

// Unmarshal reads a serialized value into the variable that out points to.
func Unmarshal(data []byte, out any) error { panic("not built yet") }

// MarshalArguments serializes the arguments of a call as one array.
func MarshalArguments(args ...any) ([]byte, error) { panic("not built yet") }

// UnmarshalArguments reads the arguments of a call; missing ones leave their variables alone, further ones are ignored.
func UnmarshalArguments(data []byte, outs ...any) error { panic("not built yet") }
