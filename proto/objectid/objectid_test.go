package objectid_test

import (
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/proto/objectid"
)

//go:embed testdata/workerd.txt
var recorded string

// vector is one ID that workerd made.
type vector struct {
	uniqueKey, name, id string
	unique              bool
}

func vectors(t *testing.T) []vector {
	t.Helper()
	var list []vector
	for line := range strings.Lines(recorded) {
		f := strings.Split(strings.TrimSpace(line), " | ")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(f) != 3 {
			t.Fatalf("vector %q has %d fields", line, len(f))
		}
		v := vector{uniqueKey: f[0], id: f[2], unique: f[1] == "unique"}
		if !v.unique {
			text, count, repeated := strings.Cut(f[1], "*")
			if err := json.Unmarshal([]byte(text), &v.name); err != nil {
				t.Fatalf("vector %q: %v", line, err)
			}
			if n, err := strconv.Atoi(count); repeated && err == nil {
				v.name = strings.Repeat(v.name, n)
			}
		}
		list = append(list, v)
	}
	if len(list) < 20 {
		t.Fatalf("only %d vectors", len(list))
	}
	return list
}

// ID-1, ID-2 and ID-3: IDs are those that workerd makes, for the empty name and for one that is too long to keep.
func TestIDsOfWorkerd(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		n := objectid.NewNamespace(v.uniqueKey)
		if v.unique {
			if id, err := n.Parse(v.id); err != nil || id.String() != v.id {
				t.Errorf("unique %s of %s: got %s, %v", v.id, v.uniqueKey, id, err)
			}
			continue
		}
		if got := n.FromName(v.name).String(); got != v.id {
			t.Errorf("%q of %s: got %s, want %s", v.name, v.uniqueKey, got, v.id)
		}
	}
}

// ID-2, computed apart from the package: the key is the unique key's hash, each half a cut MAC.
func TestDerivation(t *testing.T) {
	t.Parallel()
	key := sha256.Sum256([]byte("w-Class"))
	half := func(data []byte) []byte {
		h := hmac.New(sha256.New, key[:])
		h.Write(data)
		return h.Sum(nil)[:16]
	}
	head := half([]byte("name"))
	want := hex.EncodeToString(head) + hex.EncodeToString(half(head))
	if got := objectid.NewNamespace("w-Class").FromName("name").String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// ID-4: a unique ID is new, and one of its namespace.
func TestUnique(t *testing.T) {
	t.Parallel()
	n := objectid.NewNamespace("w-Class")
	seen := map[objectid.ID]bool{}
	for range 100 {
		id := n.NewUnique()
		if seen[id] || !n.Owns(id) || objectid.NewNamespace("w-Other").Owns(id) {
			t.Fatalf("%s: seen before: %v, owned: %v", id, seen[id], n.Owns(id))
		}
		seen[id] = true
	}
}

// ID-1, ID-5, ID-6, ID-7 and ID-8: the text form and back, in either case, with workerd's words for what is wrong.
func TestParse(t *testing.T) {
	t.Parallel()
	n := objectid.NewNamespace("w-Class")
	id := n.FromName("a")
	text := id.String()
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(text) {
		t.Errorf("text is %s, want 64 lower-case hex digits", text)
	}
	const syntax = "Invalid Durable Object ID: must be 64 hex digits"
	tests := []struct {
		name, text string
		want       error
		message    string
	}{
		{"as written", text, nil, ""},
		{"upper case", strings.ToUpper(text), nil, ""},
		{"empty", "", objectid.ErrSyntax, syntax},
		{"short", text[1:], objectid.ErrSyntax, syntax},
		{"long", text + "0", objectid.ErrSyntax, syntax},
		{"no hex digit", "g" + text[1:], objectid.ErrSyntax, syntax},
		{"wide digits", strings.Repeat("é", 32), objectid.ErrSyntax, syntax},
		{
			"other namespace", objectid.NewNamespace("w-Other").FromName("a").String(), objectid.ErrNamespace,
			"Durable Object ID is not valid for this namespace.",
		},
		{"last bit", flipLast(text), objectid.ErrNamespace, "Durable Object ID is not valid for this namespace."},
	}
	for _, tt := range tests {
		got, err := n.Parse(tt.text)
		if !errors.Is(err, tt.want) || (err == nil) != (got == id) || err != nil && err.Error() != tt.message {
			t.Errorf("%s: got %s, %v", tt.name, got, err)
		}
	}
}

func flipLast(text string) string {
	b, err := hex.DecodeString(text)
	if err != nil {
		return ""
	}
	b[len(b)-1] ^= 1
	return hex.EncodeToString(b)
}

func FuzzParse(f *testing.F) {
	n := objectid.NewNamespace("w-Class")
	f.Add(n.FromName("a").String())
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := n.Parse(text)
		if err == nil && (id.String() != strings.ToLower(text) || !n.Owns(id)) {
			t.Errorf("%q became %s", text, id)
		}
	})
}

// A namespace that has derived many names gives the IDs that a new one does, however often each is asked for.
func TestFromNameAgain(t *testing.T) {
	t.Parallel()
	used := objectid.NewNamespace("chat-Room")
	for range 2 {
		for i := range 2000 {
			name := strings.Repeat("n", i)
			if got, want := used.FromName(name), objectid.NewNamespace("chat-Room").FromName(name); got != want {
				t.Fatalf("name of %d bytes: got %v, want %v", i, got, want)
			}
			if used.FromName(name) != used.FromName(name) { //nolint:staticcheck // twice on purpose
				t.Fatalf("name of %d bytes: two answers", i)
			}
		}
	}
}
