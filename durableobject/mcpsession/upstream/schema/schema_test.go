package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func decoded(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, schema, arguments string
		ok                      bool
	}{
		{"type", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"a":1}`, false},
		{"required", `{"required":["a"]}`, `{}`, false},
		{"no others", `{"properties":{"a":true},"additionalProperties":false}`, `{"b":1}`, false},
		{"reference", `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"number"}}}`, `{"a":"x"}`, false},
		{"reference met", `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"number"}}}`, `{"a":1}`, true},
		{"beside a reference", `{"properties":{"a":{"$ref":"#/$defs/n","minimum":5}},"$defs":{"n":{"type":"number"}}}`, `{"a":1}`, false},
		{"beside one in draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/n","minimum":5}},"definitions":{"n":{"type":"number"}}}`, `{"a":1}`, true},
		{"escaped reference", `{"properties":{"a":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"number"}}}`, `{"a":"x"}`, false},
		{"into a list", `{"properties":{"a":{"$ref":"#/x/1"}},"x":[true,false]}`, `{"a":"x"}`, false},
		{"out of the schema", `{"properties":{"a":{"$ref":"https://example.com/x"}}}`, `{"a":"x"}`, true},
		{"to nowhere", `{"properties":{"a":{"$ref":"#/$defs/none"}}}`, `{"a":"x"}`, true},
		{"to itself", `{"$ref":"#"}`, `{"a":"x"}`, true},
		{"to itself by way of another", `{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}}`, `{}`, true},
		{"recursive, first level", `{"properties":{"n":{"type":"integer"},"next":{"$ref":"#"}}}`, `{"n":"x"}`, false},
		{"recursive, below", `{"properties":{"n":{"type":"integer"},"next":{"$ref":"#"}}}`, `{"n":1,"next":{"n":2}}`, true},
		{"property named $ref", `{"properties":{"$ref":{"type":"number"}}}`, `{"$ref":"x"}`, false},
		{"enum with $ref", `{"properties":{"a":{"enum":[{"$ref":"#"}]}}}`, `{"a":{"$ref":"#"}}`, true},
		{"pattern", `{"properties":{"a":{"pattern":"^x$"}}}`, `{"a":"y"}`, false},
		{"pattern of another language", `{"properties":{"a":{"pattern":"(?<=x)y"}}}`, `{"a":"z"}`, true},
		{"pattern of properties", `{"patternProperties":{"(?=x)":false,"^y":false}}`, `{"y":1}`, false},
		{"draft 4 bounds", `{"properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, `{"a":1}`, false},
		{"new bounds", `{"properties":{"a":{"exclusiveMinimum":1}}}`, `{"a":1}`, false},
		{"items by place", `{"properties":{"a":{"items":[{"type":"string"}],"additionalItems":false}}}`, `{"a":["x",1]}`, false},
		{"items by place met", `{"properties":{"a":{"items":[{"type":"string"}]}}}`, `{"a":["x",1]}`, true},
		{"dependencies", `{"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"c":1}`, false},
		{"dependent names", `{"dependencies":{"a":["b"]}}`, `{"a":1}`, false},
		{"required as a boolean", `{"properties":{"a":{"type":"string","required":true}}}`, `{}`, true},
		{"format is not checked", `{"properties":{"a":{"format":"email"}}}`, `{"a":"x"}`, true},
		{"no object", `true`, `[]`, false},
		{"anything", `true`, `{"a":1}`, true},
		{"not an object's schema", `{"type":"string"}`, `{}`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, err := Compile([]byte(tc.schema))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Check(decoded(t, tc.arguments)); (err == nil) != tc.ok {
				t.Errorf("check = %v", err)
			}
		})
	}
	var none *Schema
	if none.Check(map[string]any{}) != nil || none.Check("x") == nil {
		t.Error("no schema accepts every object and nothing else")
	}
}

// hostile returns a schema of n definitions, each of which uses the next one twice.
func hostile(n int, use string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		fmt.Fprintf(&b, `"d%d":`+use+`,`, i, next, next)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"string"}}}`, n)
	return b.String()
}

func TestHostile(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<15)
	for _, tc := range []struct{ name, schema string }{
		{"in place", hostile(60, `{"allOf":[%s,%s]}`)},
		{"below", hostile(60, `{"anyOf":[{"items":%s},{"items":%s}]}`)},
		{"a long value often", `{"allOf":[` + strings.Repeat(`{"$ref":"#/$defs/a"},`, 2000) + `true],"$defs":{"a":{"const":"` + long + `"}}}`},
		{"not a schema", `{"properties":{"a":5}}`},
		{"not a list", `{"allOf":{}}`},
		{"not JSON", `{`},
		{"empty", ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if s, err := Compile([]byte(tc.schema)); err == nil {
				t.Errorf("compiled to %d bytes", s.bytes)
			}
		})
	}
	deep, err := Compile([]byte(strings.Repeat(`{"properties":{"a":`, 500) + `{}` + strings.Repeat(`}}`, 500)))
	if err != nil || deep.Check(map[string]any{"a": map[string]any{}}) != nil {
		t.Errorf("a deep schema: %v", err)
	}
}

// What would take minutes is left to the source, and what is large but simple is checked.
func TestWork(t *testing.T) {
	t.Parallel()
	numbers := `{"a":[` + strings.Repeat("1,", 100_000) + `1]}`
	text := `{"a":"` + strings.Repeat("x", 200_000) + `"}`
	for _, tc := range []struct {
		name, schema, arguments string
		ok                      bool
	}{
		{"many alternatives of many values",
			`{"properties":{"a":{"items":{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 3000) + `false]}}}}`, numbers, true},
		{"many values that are named",
			`{"properties":{"a":{"items":{"enum":[` + strings.Repeat(`0,`, 9000) + `2]}}}}`, numbers, true},
		{"patterns of a long text",
			`{"properties":{"a":{"allOf":[` + strings.Repeat(`{"pattern":"(x+x+){90}y"},`, 30) + `true]}}}`, text, true},
		{"patterns of names",
			`{"patternProperties":{"(x+x+){90}y":true},"required":["b"]}`, text, true},
		{"a pattern that takes too much memory", `{"properties":{"a":{"pattern":"(x{900}y{900}){20}"}}}`, `{"a":"x"}`, true},
		{"patterns that do together",
			`{"properties":{"a":{"allOf":[` + strings.Repeat(`{"pattern":"^y{900}"},`, 2000) + `true]}}}`, `{"a":"x"}`, false},
		{"many values", `{"properties":{"a":{"items":{"type":"string"}}}}`, numbers, false},
		{"a pattern of a long text", `{"properties":{"a":{"pattern":"^[^x]*$"}}}`, text, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, err := Compile([]byte(tc.schema))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Check(decoded(t, tc.arguments)); (err == nil) != tc.ok {
				t.Errorf("check = %.100v", err)
			}
			if s.bytes > 4<<20 {
				t.Errorf("it takes %d bytes", s.bytes)
			}
		})
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	c := NewCache()
	first, err := c.Compile([]byte(`{"type":"object"}`))
	if again, _ := c.Compile([]byte(`{"type":"object"}`)); err != nil || again != first {
		t.Error("compiled twice")
	}
	if _, err := c.Compile([]byte(`5`)); err == nil {
		t.Error("compiled a number")
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(`{"$ref":"#"}`, `{}`)
	f.Add(hostile(8, `{"anyOf":[{"items":%s},{"items":%s}]}`), `{"a":[[[]]]}`)
	f.Add(`{"dependencies":{"a":["b"],"c":{"required":["d"]}},"items":[true]}`, `{"a":1}`)
	f.Fuzz(func(t *testing.T, schema, arguments string) {
		s, err := Compile([]byte(schema))
		var v any
		if err != nil || json.Unmarshal([]byte(arguments), &v) != nil {
			return
		}
		_ = s.Check(v)
	})
}
