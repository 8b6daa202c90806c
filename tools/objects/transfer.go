package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/tandem-do/tandem/durableobject/archive"
	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// pieceBytes is how much of an archive is sent at a time.
const pieceBytes = 256 << 10

// Export writes an object to a new file, and reads it back before it says that it did.
func (c *Client) Export(ctx context.Context, ref Ref, path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already; give another file, or remove it", path)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	if err := c.ExportTo(ctx, ref, f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	keys, size, err := verify(f)
	if err != nil {
		return fmt.Errorf("read %s back: %w", path, err)
	}
	if c.options.JSON {
		return c.document(map[string]any{
			"namespace": ref.Namespace, "object_id": ref.ID.String(), "file": path, "keys": keys, "size": size,
		})
	}
	_, err = fmt.Fprintf(c.options.Stdout, "exported %s to %s: %s, %s\n", ref, path, keysText(keys), bytesText(size))
	return err
}

// ExportTo writes an object to out. What was written is whole only if there is no error.
func (c *Client) ExportTo(ctx context.Context, ref Ref, out io.Writer) error {
	return c.explain(c.source.Export(ctx, &dopb.ExportObjectRequest{Object: ref.ref}, func(data []byte) error {
		_, err := out.Write(data)
		return err
	}))
}

// verify reads a file of an archive from its beginning to its end, and goes back to the beginning.
func verify(f io.ReadSeeker) (keys uint64, size int64, err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, 0, err
	}
	r, err := archive.NewReader(f)
	if err != nil {
		return 0, 0, err
	}
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.EOF) {
		return 0, 0, err
	}
	if size, err = f.Seek(0, io.SeekEnd); err != nil {
		return 0, 0, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return r.Keys(), size, err
}

// Import makes an object from a file; overwrite replaces one that exists.
func (c *Client) Import(ctx context.Context, path string, overwrite bool) (err error) {
	if _, err := c.act(); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, _, err := verify(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return c.ImportFrom(ctx, f, overwrite)
}

// ImportFrom makes an object from an archive.
func (c *Client) ImportFrom(ctx context.Context, in io.Reader, overwrite bool) error {
	host, err := c.act()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	stream, err := host.ImportObject(ctx)
	if err != nil {
		return c.explain(err)
	}
	piece := make([]byte, pieceBytes)
	for {
		n, err := io.ReadFull(in, piece)
		if n > 0 {
			// A refusal comes as io.EOF here, and as itself from CloseAndRecv.
			if serr := stream.Send(&dopb.ImportObjectRequest{Overwrite: overwrite, Data: piece[:n]}); serr != nil {
				break
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err) // cancel ends the stream before its end
		}
	}
	r, err := stream.CloseAndRecv()
	if err != nil {
		return c.explain(err)
	}
	if c.options.JSON {
		return c.document(map[string]any{
			"namespace": r.GetNamespace(), "object_id": hexID(r.GetObjectId()), "keys": r.GetKeys(), "was_live": r.GetWasLive(),
		})
	}
	_, err = fmt.Fprintf(c.options.Stdout, "imported %s %s: %s\n",
		visible(r.GetNamespace()), hexID(r.GetObjectId()), keysText(uint64(r.GetKeys())))
	return err
}
