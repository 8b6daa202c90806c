package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Errors of reading a bundle file.
var (
	// ErrFormat is of a file that is no bundle, or one of a version that this program does not read.
	ErrFormat = errors.New("not a bundle file of this version")
	// ErrCorrupt is of a bundle file that was damaged or cut short.
	ErrCorrupt = errors.New("bundle file is damaged")
)

// magic and the hash are the first line of a file; kind and the number of the format begin it, in every version.
const (
	kind   = "tandem-bundle "
	format = "1"
	magic  = kind + format + " "
)

// The members of the archive, in their order.
const (
	memberManifest  = "manifest.json"
	memberCode      = "worker.js"
	memberSourceMap = "worker.js.map"
)

// Write writes the bundle as a file's content. Equal bundles give equal bytes.
func (b *Bundle) Write(w io.Writer) error { return b.write(w, gzip.DefaultCompression) }

// WriteStored writes what Write writes, uncompressed: for a file that is read once, on the same machine.
func (b *Bundle) WriteStored(w io.Writer) error { return b.write(w, gzip.NoCompression) }

func (b *Bundle) write(w io.Writer, level int) error {
	if _, err := io.WriteString(w, magic+b.hash+"\n"); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	zip, err := gzip.NewWriterLevel(w, level)
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	archive := tar.NewWriter(zip)
	members := []struct {
		name    string
		content []byte
	}{{memberManifest, b.encoded}, {memberCode, b.code}}
	if b.sourceMap != nil {
		members = append(members, struct {
			name    string
			content []byte
		}{memberSourceMap, b.sourceMap})
	}
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.content)), Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(h); err != nil {
			return fmt.Errorf("write %s of bundle: %w", m.name, err)
		}
		if _, err := archive.Write(m.content); err != nil {
			return fmt.Errorf("write %s of bundle: %w", m.name, err)
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return nil
}

// WriteFile writes the bundle to a file, which is there whole or as it was before.
func (b *Bundle) WriteFile(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	err = errors.Join(b.Write(f), f.Chmod(0o644), f.Sync())
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return nil
}

// Open reads a bundle file. Errors are ErrFormat, ErrCorrupt, or those of the file system.
func Open(path string) (*Bundle, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	defer f.Close()
	b, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("open bundle %s: %w", path, err)
	}
	return b, nil
}

// Read reads what Write wrote. Errors are ErrFormat, ErrCorrupt, or those of r.
func Read(r io.Reader) (*Bundle, error) {
	in := bufio.NewReader(r)
	head := make([]byte, len(magic)+64+1)
	if _, err := io.ReadFull(in, head); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, ErrFormat
		}
		return nil, err
	}
	want, ok := strings.CutPrefix(strings.TrimSuffix(string(head), "\n"), magic)
	if !ok || len(want) != 64 {
		return nil, otherFormat(string(head))
	}
	members, err := readMembers(in)
	if err != nil {
		return nil, err
	}
	b, err := assemble(members[memberManifest], members[memberCode], members[memberSourceMap])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if b.hash != want {
		return nil, fmt.Errorf("%w: its content has the hash %s, not %s", ErrCorrupt, b.hash, want)
	}
	return b, nil
}

// otherFormat is why a file with this beginning is not read.
func otherFormat(head string) error {
	rest, ok := strings.CutPrefix(head, kind)
	number, _, _ := strings.Cut(rest, " ")
	if _, err := strconv.ParseUint(number, 10, 16); !ok || err != nil {
		return ErrFormat
	}
	return fmt.Errorf("%w: its format is %s, and this version of tandem reads %s; build it with this version",
		ErrFormat, number, format)
}

// readMembers reads the archive. Each member may be there once and is bounded.
func readMembers(r io.Reader) (map[string][]byte, error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	limits := map[string]int64{
		memberManifest: MaxManifestBytes, memberCode: MaxCodeBytes, memberSourceMap: MaxSourceMapBytes,
	}
	archive, members := tar.NewReader(zip), map[string][]byte{}
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		limit, known := limits[h.Name]
		if _, again := members[h.Name]; !known || again || h.Typeflag != tar.TypeReg || h.Size > limit {
			return nil, fmt.Errorf("%w: member %q of %d bytes", ErrCorrupt, h.Name, h.Size)
		}
		var content bytes.Buffer // grows with what is there, whatever the header says
		if _, err := io.Copy(&content, io.LimitReader(archive, limit)); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		members[h.Name] = content.Bytes()
	}
	if members[memberManifest] == nil || members[memberCode] == nil {
		return nil, fmt.Errorf("%w: a member is missing", ErrCorrupt)
	}
	return members, nil
}
