package sources

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/proto/v8value"
)

// Limits of what is kept of one source.
const (
	maxToolNameBytes = 256
	// maxSegmentBytes bounds the last segment of a tool's path, so that a policy's pattern can name it.
	maxSegmentBytes = 120
	// maxShortBytes bounds the descriptions that search reads and returns.
	maxShortBytes = 512
	// maxSnapshotBytes bounds all tools together. When they come near it, the schemas of results are left out.
	maxSnapshotBytes   = 32 << 20
	leaveOutputsBeyond = 16 << 20
)

// storedTool is one tool in full, as it is stored.
type storedTool struct {
	Name         string `json:"name"`
	Description  string `json:"description"`
	InputSchema  []byte `json:"inputSchema"`
	OutputSchema []byte `json:"outputSchema,omitempty"`
}

// snapshot is what a source has at one moment, ready to be stored.
type snapshot struct {
	// items are the index, by segment; values are the tools in full, serialized, in the same order.
	items  []item
	values [][]byte
	// digest is that of all of it.
	digest []byte
	// note says what was left out.
	note string
}

// item is a tool in the index.
type item struct {
	// Segment is the last one of its path.
	Segment string `json:"segment"`
	// Name is what the source calls it.
	Name string `json:"name"`
	// Short is the beginning of its description.
	Short string `json:"short"`
}

// newSnapshot makes a snapshot of what a source said.
func newSnapshot(tools []upstream.Tool) (*snapshot, error) {
	var kept []upstream.Tool
	seen := map[string]bool{}
	for _, t := range tools {
		if usable(&t) && !seen[t.Name] {
			seen[t.Name] = true
			kept = append(kept, t)
		}
	}
	s := &snapshot{}
	if len(kept) > upstream.MaxTools {
		return nil, upstream.Errorf(upstream.CodeTooLarge, "the source has more than %d tools", upstream.MaxTools)
	}
	if left := len(tools) - len(kept); left > 0 {
		s.note = fmt.Sprintf("%d tools were left out: their names or schemas are not usable", left)
	}
	segments := segments(kept)
	slices.SortFunc(kept, func(a, b upstream.Tool) int { return strings.Compare(segments[a.Name], segments[b.Name]) })
	sum, total, outputs := sha256.New(), 0, 0
	for _, t := range kept {
		if total > leaveOutputsBeyond && len(t.OutputSchema) > 0 {
			t.OutputSchema = nil
			outputs++
		}
		value, err := v8value.Marshal(storedTool{t.Name, t.Description, t.InputSchema, t.OutputSchema})
		if err != nil {
			return nil, fmt.Errorf("tool %.100q: %w", t.Name, err)
		}
		if total += len(value); total > maxSnapshotBytes {
			return nil, upstream.Errorf(upstream.CodeTooLarge, "the tools of the source have more than %d bytes in all",
				maxSnapshotBytes)
		}
		segment := segments[t.Name]
		fmt.Fprintf(sum, "%s\x00%d\x00", segment, len(value))
		sum.Write(value)
		s.items = append(s.items, item{segment, t.Name, cut(t.Description, maxShortBytes)})
		s.values = append(s.values, value)
	}
	if outputs > 0 {
		s.note = strings.TrimPrefix(fmt.Sprintf("%s; the schemas of %d results were left out for their size", s.note, outputs), "; ")
	}
	s.digest = sum.Sum(nil)
	return s, nil
}

// usable reports whether a tool can be kept, and cuts what is too long in it.
func usable(t *upstream.Tool) bool {
	if t.Name == "" || len(t.Name) > maxToolNameBytes || !utf8.ValidString(t.Name) {
		return false
	}
	t.Description = cut(strings.ToValidUTF8(t.Description, "�"), upstream.MaxDescriptionBytes)
	if len(bytes.TrimSpace(t.InputSchema)) == 0 {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if len(t.OutputSchema) > upstream.MaxSchemaBytes || !json.Valid(t.OutputSchema) {
		t.OutputSchema = nil
	}
	return len(t.InputSchema) <= upstream.MaxSchemaBytes && json.Valid(t.InputSchema)
}

// cut returns the beginning of a text, whole characters of it.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const dots = "…"
	end := most - len(dots)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + dots
}

// segments returns the last segment of each tool's path, by its name. A name that is an identifier is its own segment.
// Another one becomes one, and where that is another's as well, the beginning of a hash of the name follows. So a tool's
// path depends on its own name, and a new tool may take a path away but never make it another tool's, unless it has the
// very name.
func segments(tools []upstream.Tool) map[string]string {
	plain := make(map[string]string, len(tools))
	wanted := map[string]int{}
	for _, t := range tools {
		plain[t.Name] = identifier(t.Name)
		wanted[plain[t.Name]]++
	}
	for name, segment := range plain {
		if name != segment && wanted[segment] > 1 {
			plain[name] = suffixed(segment, name)
		}
	}
	return plain
}

// identifier makes a name an identifier.
func identifier(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r > 0x7f || notNameByte(byte(r)) {
			r = '_'
		}
		b.WriteRune(r)
	}
	segment := b.String()
	if c := segment[0]; c >= '0' && c <= '9' {
		segment = "_" + segment
	}
	if reservedSegment(segment) || len(segment) > maxSegmentBytes {
		return suffixed(segment, name)
	}
	return segment
}

func notNameByte(c byte) bool {
	return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '_'
}

// suffixed tells a name from others that look like it.
func suffixed(segment, name string) string {
	const hashBytes = 4
	sum := sha256.Sum256([]byte(name))
	return segment[:min(len(segment), maxSegmentBytes-2*hashBytes-1)] + "_" + hex.EncodeToString(sum[:hashBytes])
}
