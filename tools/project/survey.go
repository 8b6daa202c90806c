package project

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tandem-do/tandem/runtime/compatibility"
)

// Survey is what became of all the configurations below a directory.
type Survey struct {
	// Workers is how many Worker configurations there are; Loaded of them run.
	Workers, Loaded int
	// Pages is how many configurations are of Pages projects, which are not counted.
	Pages int
	// Refused are those that don't run: their path and why.
	Refused []SurveyedProject
	// Keys say how many of the refused have an error of a key; Unavailable how many of the loaded have one that
	// is not available.
	Keys, Unavailable map[string]int
}

// SurveyedProject is a configuration that does not run.
type SurveyedProject struct {
	// File is relative to the directory.
	File   string
	Errors []Diagnostic
}

// NewSurvey loads every configuration below a directory, such as a checkout of Cloudflare's workers-sdk. It reads
// files named wrangler*.json, .jsonc or .toml outside node_modules. Placeholders of templates, such as <WORKER_NAME>,
// are filled first.
func NewSurvey(dir string) (*Survey, error) {
	s := &Survey{Keys: map[string]int{}, Unavailable: map[string]int{}}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if e.Name() == "node_modules" || e.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		ext := filepath.Ext(path)
		if !strings.HasPrefix(e.Name(), "wrangler") || ext != ".json" && ext != ".jsonc" && ext != ".toml" {
			return nil
		}
		return s.add(dir, path)
	})
	if err != nil {
		return nil, fmt.Errorf("survey %s: %w", dir, err)
	}
	return s, nil
}

func (s *Survey) add(dir, path string) error {
	data, err := readFile(path)
	if err != nil {
		return err
	}
	p := &Project{Dir: filepath.Dir(path), File: path}
	err = p.load(&Options{}, fill(data))
	failed, isProject := errors.AsType[*Error](err)
	if err != nil && !isProject {
		return err
	}
	if slices.Contains(p.Keys, "pages_build_output_dir") {
		s.Pages++
		return nil
	}
	s.Workers++
	if err == nil {
		s.Loaded++
		for _, k := range p.Keys {
			if keyOf(k).Status == Unavailable {
				s.Unavailable[k]++
			}
		}
		return nil
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	s.Refused = append(s.Refused, SurveyedProject{File: filepath.ToSlash(rel), Errors: failed.Diagnostics})
	keys := map[string]bool{}
	for _, g := range failed.Diagnostics {
		keys[g.Key] = true
	}
	for k := range keys {
		s.Keys[k]++
	}
	return nil
}

// placeholder is what a template has until a project is made of it.
var placeholder = regexp.MustCompile(`<+([A-Z_]+)>+`)

// fill does to a template what making a project of it would.
func fill(data []byte) []byte {
	return placeholder.ReplaceAllFunc(data, func(p []byte) []byte {
		if bytes.Contains(p, []byte("DATE")) {
			return []byte(compatibility.NewestDate)
		}
		return []byte("worker")
	})
}

func keyOf(path string) Key {
	for _, k := range Keys() {
		if k.Path == path {
			return k
		}
	}
	return Key{}
}

// Write writes the figures for a reader.
func (s *Survey) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d Worker configurations load; %d are of Pages projects.\n", s.Loaded, s.Workers, s.Pages)
	for _, part := range []struct {
		title  string
		counts map[string]int
	}{{"Refused, by key", s.Keys}, {"Loaded without what is not available, by key", s.Unavailable}} {
		fmt.Fprintf(&b, "\n%s:\n", part.title)
		keys := slices.SortedFunc(maps.Keys(part.counts), func(x, y string) int {
			if d := part.counts[y] - part.counts[x]; d != 0 {
				return d
			}
			return strings.Compare(x, y)
		})
		for _, k := range keys {
			name := k
			if name == "" {
				name = "(the file)"
			}
			fmt.Fprintf(&b, "  %3d  %s\n", part.counts[k], name)
		}
	}
	b.WriteString("\nRefused:\n")
	for _, p := range s.Refused {
		fmt.Fprintf(&b, "  %s\n", p.File)
		for _, g := range p.Errors {
			fmt.Fprintf(&b, "      %d:%d: %s\n", g.Line, g.Column, g.Message)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
