package admin

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tandem-do/tandem/durableobject/archive"
	"github.com/tandem-do/tandem/durableobject/storage"
	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/objectid"
)

const (
	// MaxPieceBytes is the most that one message of an export or import carries.
	MaxPieceBytes = 1 << 20
	// exportPiece is what an export sends at a time, unless a value is larger.
	exportPiece = 256 << 10
	// maxImportBytes bounds the keys and values of an import, which is held in memory until it is committed.
	maxImportBytes = 256 << 20
)

// ExportObject implements dopb.AdminServiceServer.
func (s *Service) ExportObject(
	r *dopb.ExportObjectRequest, stream grpc.ServerStreamingServer[dopb.ExportObjectResponse],
) error {
	if err := admit(stream.Context()); err != nil {
		return err
	}
	return s.Export(stream.Context(), r, func(data []byte) error {
		return stream.Send(&dopb.ExportObjectResponse{Data: slices.Clone(data)})
	})
}

// Export is ExportObject for callers within the process: it calls send with each piece, which is the service's again
// when send returns.
func (s *Service) Export(ctx context.Context, r *dopb.ExportObjectRequest, send func([]byte) error) error {
	o, err := objectOf(r.GetObject())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	out := bufio.NewWriterSize(pieces(send), exportPiece)
	var w *archive.Writer
	found, err := s.store.Dump(ctx, o.namespace, o.id, func(sum storage.Summary) error {
		h := archive.Header{Namespace: o.namespace, ID: o.id, Name: sum.Name, HasName: sum.HasName}
		if w, err = archive.NewWriter(out, h); err != nil || sum.Alarm == nil {
			return err
		}
		return w.Alarm(archive.Alarm{
			ScheduledTime: sum.Alarm.ScheduledTime, Due: sum.Alarm.Due,
			Retries: sum.Alarm.Retries, Counted: sum.Alarm.Counted,
		})
	}, func(key, value []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return w.Key(key, value)
	})
	switch {
	case err != nil:
		return err
	case !found:
		return notFound(o)
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Flush()
}

// pieces is a writer that sends what is written in pieces.
type pieces func([]byte) error

// Write implements io.Writer.
func (p pieces) Write(b []byte) (int, error) {
	for piece := range slices.Chunk(b, MaxPieceBytes) {
		if err := p(piece); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// ImportObject implements dopb.AdminServiceServer.
func (s *Service) ImportObject(
	stream grpc.ClientStreamingServer[dopb.ImportObjectRequest, dopb.ImportObjectResponse],
) error {
	if err := s.act(stream.Context()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(stream.Context(), streamTimeout)
	defer cancel()
	if !s.importing.TryLock() {
		return status.Error(codes.ResourceExhausted, "another import is under way; try again")
	}
	defer s.importing.Unlock()
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return invalid("data", "there is none")
	}
	if err != nil {
		return err
	}
	if len(first.GetData()) > MaxPieceBytes {
		return pieceTooLarge(len(first.GetData()))
	}
	source := &pieceReader{stream: stream, rest: first.GetData()}
	out, err := s.receive(ctx, source, first.GetOverwrite())
	if err != nil {
		return err
	}
	return stream.SendAndClose(out)
}

// receive reads an archive and makes its object.
func (s *Service) receive(ctx context.Context, in io.Reader, overwrite bool) (*dopb.ImportObjectResponse, error) {
	r, err := archive.NewReader(in)
	if err != nil {
		return nil, badArchive(err)
	}
	h := r.Header()
	o := object{namespace: h.Namespace, id: h.ID, name: h.Name, hasName: h.HasName}
	if err := s.mayImport(ctx, o, overwrite); err != nil {
		return nil, err
	}
	state, err := s.store.Replace(o.namespace, o.id)
	if err != nil {
		return nil, err
	}
	defer state.Close()
	if err := collect(state, r); err != nil {
		return nil, err
	}
	live, err := s.host.Replace(o.namespace, o.id, textImported, func() error {
		// It may have come to have state since the first look; its actor, which was broken, can't write any more.
		if err := s.mayImport(ctx, o, overwrite); err != nil {
			return err
		}
		return state.Commit(ctx)
	})
	if err != nil {
		return nil, outcome(err)
	}
	out := &dopb.ImportObjectResponse{
		Namespace: o.namespace, ObjectId: o.id[:], Keys: int64(state.Keys()), WasLive: live,
	}
	if o.hasName {
		name := strings.ToValidUTF8(o.name, "\ufffd")
		out.ObjectName = &name
	}
	return out, nil
}

// mayImport says whether an object may be made from an archive.
func (s *Service) mayImport(ctx context.Context, o object, overwrite bool) error {
	ids := objectid.NewNamespace(o.namespace)
	switch {
	case !slices.Contains(s.host.Namespaces(), o.namespace):
		return status.Errorf(codes.NotFound, "data: the archive's object is of namespace %q, which the host has no class for",
			o.namespace)
	case !ids.Owns(o.id), o.hasName && ids.FromName(o.name) != o.id:
		return invalid("data", "the archive's object ID %s is not one of its namespace and name", o.id)
	case overwrite:
		return nil
	}
	found, err := s.exists(ctx, o)
	if err != nil {
		return err
	}
	if found {
		return status.Errorf(codes.AlreadyExists,
			"overwrite: object %s of namespace %q exists, and overwrite is not set", o.id, o.namespace)
	}
	return nil
}

// collect reads the archive to its end.
func collect(state *storage.Replacement, r *archive.Reader) error {
	if h := r.Header(); h.HasName {
		if err := state.SetName(h.Name); err != nil {
			return badArchive(err)
		}
	}
	for {
		rec, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
		case rec.Alarm != nil:
			a := rec.Alarm
			err = state.SetAlarm(storage.AlarmState{
				ScheduledTime: a.ScheduledTime, Due: a.Due, Retries: a.Retries, Counted: a.Counted,
			})
		case state.Bytes()+len(rec.Key)+len(rec.Value) > maxImportBytes:
			return status.Errorf(codes.ResourceExhausted, "data: the object has more than %d MiB, the most that can be imported",
				maxImportBytes>>20)
		default:
			err = state.Put(rec.Key, rec.Value)
		}
		if err != nil {
			return badArchive(err)
		}
	}
}

// badArchive returns an error about the data as the caller gets it; others stay.
func badArchive(err error) error {
	var limit *storage.Error
	if errors.Is(err, archive.ErrFormat) || errors.As(err, &limit) {
		return invalid("data", "%v", err)
	}
	return err
}

// pieceReader reads the pieces of an import as one stream.
type pieceReader struct {
	stream grpc.ClientStreamingServer[dopb.ImportObjectRequest, dopb.ImportObjectResponse]
	rest   []byte
}

// Read implements io.Reader.
func (p *pieceReader) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		m, err := p.stream.Recv()
		if err != nil {
			return 0, err
		}
		if len(m.GetData()) > MaxPieceBytes {
			return 0, pieceTooLarge(len(m.GetData()))
		}
		p.rest = m.GetData()
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func pieceTooLarge(size int) error {
	return invalid("data", "a piece has %d bytes, want at most %d", size, MaxPieceBytes)
}
