package sources

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/v8value"
)

// Limits of what is asked about tools.
const (
	defaultPage    = 100
	maxPage        = 500
	maxSuggestions = 3
	// minSimilarity is how alike, from 0 to 1, a path must be to be suggested.
	minSimilarity = 0.5
	// maxCompared is how much of a segment is compared: the work grows with its square, for each tool.
	maxCompared  = 48
	maxPathBytes = 200
)

// snapshotKey names the index of one snapshot.
type snapshotKey struct {
	owner, source string
	snapshot      uint64
}

// index is the index of a source's tools, in memory. It does not change.
type index struct {
	// items are sorted by segment; texts are what search looks at, in the same order.
	items []item
	texts []string
}

// find returns where a segment is.
func (x *index) find(segment string) (int, bool) {
	return slices.BinarySearchFunc(x.items, segment, func(i item, s string) int { return strings.Compare(i.Segment, s) })
}

// newIndex returns the index of items, and about how many bytes it takes.
func newIndex(items []item) (x *index, bytes int) {
	x = &index{items: items, texts: make([]string, len(items))}
	const overhead = 128
	for i, t := range items {
		x.texts[i] = strings.ToLower(t.Segment + " " + t.Name + " " + t.Short)
		bytes += overhead + 2*(len(t.Segment)+len(t.Name)+len(t.Short))
	}
	return x, bytes
}

// index returns the index of a source's tools.
func (s *Sources) index(ctx context.Context, r *record) (*index, error) {
	key := snapshotKey{s.state.ID().String(), r.Source.ID, r.Snapshot}
	if x, ok := s.env.indexes.Get(key); ok {
		return x, nil
	}
	items, _, err := durableobject.Get[[]item](ctx, s.state.Storage(), indexPrefix+r.Source.ID)
	if err != nil {
		return nil, err
	}
	x, bytes := newIndex(items)
	s.env.indexes.Add(key, x, bytes)
	return x, nil
}

// toolKey is the key of the n-th tool of a source.
func toolKey(id string, n int) string { return fmt.Sprintf("%s%s/%04d", toolPrefix, id, n) }

// putTools replaces the tools of a source, before that is put itself, unless they are the same.
func (s *Sources) putTools(ctx context.Context, r *record, snap *snapshot) error {
	if r.Snapshot > 0 && slices.Equal(r.Digest, snap.digest) {
		return nil
	}
	id, had := r.Source.ID, r.Source.Tools
	entries := make([]storage.Entry, 0, len(snap.values)+1)
	for n, value := range snap.values {
		entries = append(entries, storage.Entry{Key: toolKey(id, n), Value: value})
	}
	items, err := v8value.Marshal(snap.items)
	if err != nil {
		return fmt.Errorf("index of source %s: %w", id, err)
	}
	entries = append(entries, storage.Entry{Key: indexPrefix + id, Value: items})
	if err := s.state.Storage().Put(ctx, entries, storage.PutOptions{}); err != nil {
		return err
	}
	if err := s.deleteTools(ctx, id, len(snap.values), had); err != nil {
		return err
	}
	r.Snapshot++
	r.Digest, r.Source.Tools = snap.digest, len(snap.items)
	return nil
}

// deleteTools deletes the tools from one number to another.
func (s *Sources) deleteTools(ctx context.Context, id string, from, to int) error {
	var gone []string
	for n := from; n < to; n++ {
		gone = append(gone, toolKey(id, n))
	}
	if len(gone) == 0 {
		return nil
	}
	_, err := s.state.Storage().Delete(ctx, gone, storage.PutOptions{})
	return err
}

func listed(r *record, i item) props.SourceToolItem {
	return props.SourceToolItem{Path: r.Source.Name + "." + i.Segment, Name: i.Name, Description: i.Short}
}

// tools returns a page of one source's tools.
func (s *Sources) tools(ctx context.Context, q props.SourceQuery) (props.SourceToolPage, error) {
	r, err := s.find(q.ID)
	if err != nil {
		return props.SourceToolPage{}, err
	}
	x, err := s.index(ctx, r)
	if err != nil {
		return props.SourceToolPage{}, err
	}
	found := props.SourceToolPage{Items: []props.SourceToolItem{}, Total: len(x.items)}
	for _, i := range page(x.items, q.Offset, orDefault(q.Limit, defaultPage, maxPage)) {
		found.Items = append(found.Items, listed(r, i))
	}
	return found, nil
}

// search returns a page of the tools of all enabled sources that have the words of a query.
func (s *Sources) search(ctx context.Context, q props.SourceSearch) (props.SourceToolPage, error) {
	words := strings.Fields(strings.ToLower(q.Query))
	found := props.SourceToolPage{Items: []props.SourceToolItem{}}
	limit := min(max(q.Limit, 0), maxPage)
	for _, r := range s.sorted() {
		if !r.Source.Enabled || r.Source.Tools == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return found, context.Cause(ctx)
		}
		// Words of the source's name need not be looked for in its tools.
		name := strings.ToLower(r.Source.Name)
		rest := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.Contains(name, w) })
		if len(rest) == 0 && found.Total+r.Source.Tools <= q.Offset {
			found.Total += r.Source.Tools
			continue
		}
		x, err := s.index(ctx, r)
		if err != nil {
			return found, err
		}
		for i, text := range x.texts {
			if !matches(name, text, rest) {
				continue
			}
			if found.Total >= q.Offset && len(found.Items) < limit {
				found.Items = append(found.Items, listed(r, x.items[i]))
			}
			found.Total++
		}
	}
	return found, nil
}

// matches reports whether a tool has all words. A word with a dot may span the source's name and the tool's.
func matches(name, text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			continue
		}
		if end, begin, ok := strings.Cut(w, "."); !ok || !strings.HasSuffix(name, end) || !strings.HasPrefix(text, begin) {
			return false
		}
	}
	return true
}

// at returns the enabled source and the place of the tool that a path names; the place is negative if it has no such
// tool, and the source nil if there is none.
func (s *Sources) at(ctx context.Context, path string) (r *record, x *index, n int, err error) {
	name, segment, _ := strings.Cut(path, ".")
	if r = s.named(name); r == nil || !r.Source.Enabled {
		return nil, nil, -1, nil
	}
	if x, err = s.index(ctx, r); err != nil {
		return nil, nil, -1, err
	}
	n, ok := x.find(segment)
	if !ok {
		n = -1
	}
	return r, x, n, nil
}

// lookup returns the tool at a path, or what may have been meant.
func (s *Sources) lookup(ctx context.Context, q props.SourceLookup) (props.SourceFound, error) {
	if len(q.Path) > maxPathBytes {
		return props.SourceFound{}, nil
	}
	r, x, n, err := s.at(ctx, q.Path)
	switch {
	case err != nil:
		return props.SourceFound{}, err
	case r == nil:
		return props.SourceFound{Suggestions: s.suggestSources(q.Path)}, nil
	case n < 0:
		_, segment, _ := strings.Cut(q.Path, ".")
		return props.SourceFound{Suggestions: suggestTools(r.Source.Name, segment, x)}, nil
	}
	t, ok, err := durableobject.Get[storedTool](ctx, s.state.Storage(), toolKey(r.Source.ID, n))
	if err == nil && !ok {
		err = fmt.Errorf("tool %d of source %s is not stored", n, r.Source.ID)
	}
	if err != nil {
		return props.SourceFound{}, err
	}
	return props.SourceFound{Tool: &props.SourceTool{
		Path: q.Path, Description: t.Description, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
	}}, nil
}

// suggestion is a path and how alike it is to what was asked for.
type suggestion struct {
	path  string
	score float64
}

// best returns the paths of the best suggestions.
func best(all []suggestion) []string {
	slices.SortFunc(all, func(a, b suggestion) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.path, b.path))
	})
	var paths []string
	for _, s := range all[:min(len(all), maxSuggestions)] {
		paths = append(paths, s.path)
	}
	return paths
}

// suggestTools returns the paths of a source's tools that are most like an unknown one.
func suggestTools(name, segment string, x *index) []string {
	var all []suggestion
	begin := func(s string) string { return strings.ToLower(s[:min(len(s), maxCompared)]) }
	segment = begin(segment)
	for _, i := range x.items {
		if score := levenshtein.Match(segment, begin(i.Segment), nil); score >= minSimilarity {
			all = append(all, suggestion{name + "." + i.Segment, score})
		}
	}
	return best(all)
}

// suggestSources returns the path in the sources whose names are most like that of an unknown one.
func (s *Sources) suggestSources(path string) []string {
	name, segment, _ := strings.Cut(path, ".")
	var all []suggestion
	for _, r := range s.records {
		score := levenshtein.Match(strings.ToLower(name), strings.ToLower(r.Source.Name), nil)
		if r.Source.Enabled && score >= minSimilarity {
			all = append(all, suggestion{strings.TrimSuffix(r.Source.Name+"."+segment, "."), score})
		}
	}
	return best(all)
}
