package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// module is the path of this module.
const module = "github.com/tandem-do/tandem"

// File is one parsed Go file of the tree.
type File struct {
	// Path is relative to the root, with slashes.
	Path string
	// Dir is the folder of Path: the package's path within the module.
	Dir string
	// Test and Generated say what kind of file it is.
	Test, Generated bool
	Fset            *token.FileSet
	AST             *ast.File
	// Lines is the number of lines.
	Lines int
}

// At says where a node stands.
func (f *File) At(n ast.Node) string {
	return fmt.Sprintf("%s:%d", f.Path, f.Fset.Position(n.Pos()).Line)
}

// Imports returns the import paths.
func (f *File) Imports() []string {
	var list []string
	for _, spec := range f.AST.Imports {
		list = append(list, strings.Trim(spec.Path.Value, `"`))
	}
	return list
}

// Load parses every Go file below root, those that git does not keep left out.
func Load(root string) ([]*File, error) {
	var files []*File
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); rel != "." && (strings.HasPrefix(base, ".") || base == "node_modules" || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := Parse(filepath.ToSlash(rel), src)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// Parse parses one file.
func Parse(name string, src []byte) (*File, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	return &File{
		Path: name, Dir: path.Dir(name), Test: strings.HasSuffix(name, "_test.go"),
		Generated: ast.IsGenerated(file), Fset: fset, AST: file, Lines: strings.Count(string(src), "\n"),
	}, nil
}

// under reports whether a folder is dir or lies below it.
func under(folder, dir string) bool { return folder == dir || strings.HasPrefix(folder, dir+"/") }

// underAny is under for a list.
func underAny(folder string, dirs []string) bool {
	for _, d := range dirs {
		if under(folder, d) {
			return true
		}
	}
	return false
}
