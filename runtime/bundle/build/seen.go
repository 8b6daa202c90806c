package build

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
)

// seen is what the plugins noted during a build. They run on goroutines of esbuild's.
type seen struct {
	mu      sync.Mutex // guards the fields below
	missing map[string]string
	paths   map[string]bool
	warned  []string
}

func (s *seen) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missing, s.paths, s.warned = map[string]string{}, map[string]bool{}, nil
}

// refuse notes that a module of the host's is not there, and what to say if esbuild does not find it either.
func (s *seen) refuse(name, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missing[name] = reason
}

// file notes a file that went in.
func (s *seen) file(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths[path] = true
}

func (s *seen) warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.warned, text) {
		s.warned = append(s.warned, text)
	}
}

func (s *seen) files() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for path := range s.paths {
		list = append(list, path)
	}
	slices.Sort(list)
	return list
}

func (s *seen) warnings() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Message
	for _, text := range s.warned {
		list = append(list, Message{Text: text, kind: api.WarningMessage, message: api.Message{Text: text}})
	}
	return list
}

// lacksEntry reports whether a message is that the main file is not there.
func (b *Builder) lacksEntry(e api.Message) bool {
	return e.Location == nil && e.Text == fmt.Sprintf("Could not resolve %q", b.o.Entry)
}

// explain replaces what esbuild says of an import that it could not resolve, where there is more to say.
func (b *Builder) explain(errs []api.Message) []api.Message {
	s := b.seen
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(errs)
	for i, e := range list {
		name, ok := strings.CutPrefix(e.Text, `Could not resolve "`)
		if !ok {
			continue
		}
		name = strings.TrimSuffix(name, `"`)
		if b.lacksEntry(e) {
			list[i].Text = fmt.Sprintf("the entry %q is not there", relative(b.o.Dir, b.o.Entry))
		}
		if reason := s.missing[name]; reason != "" {
			list[i].Text = fmt.Sprintf("Could not resolve %q: %s", name, reason)
			list[i].Notes = nil
			continue
		}
		// esbuild advises its own options, which nobody can set here.
		list[i].Notes = slices.DeleteFunc(slices.Clone(e.Notes), func(n api.Note) bool {
			return strings.Contains(n.Text, "You can mark the path")
		})
	}
	return list
}
