package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

var _ http.Handler = (*Script)(nil)

// ServeHTTP takes a request to the script's fetch handler.
func (s *Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	status, err := s.fetch(w, r)
	if err != nil {
		status = s.failed(w, r, err)
	}
	if s.o.OnRequest != nil {
		s.o.OnRequest(Request{Method: r.Method, Path: r.URL.RequestURI(), Status: status, Took: time.Since(start)})
	}
	if status == 0 {
		panic(http.ErrAbortHandler) // the response is cut short
	}
}

// errCut is that a response ended before its time.
type errCut struct{ error }

// fetch runs the handler and writes its response. An error of type errCut came when the response had begun.
func (s *Script) fetch(w http.ResponseWriter, r *http.Request) (int, error) {
	release, i, err := s.pool.take(r.Context())
	if err != nil {
		return 0, err
	}
	defer release()
	reply, err := webapi.Deliver(r.Context(), i, r, webapi.Call{CF: s.cf})
	if err != nil {
		return 0, err
	}
	header := w.Header()
	reply.Header(header)
	tells := hasBody(reply.Status) && (reply.Body != http.NoBody || r.Method != http.MethodHead)
	if _, given := header["Content-Length"]; !given && reply.Length >= 0 && tells {
		header["Content-Length"] = []string{strconv.FormatInt(reply.Length, 10)}
	}
	if _, given := header["Content-Type"]; !given {
		header["Content-Type"] = nil // nobody guesses one
	}
	if reply.Body == nil {
		w.WriteHeader(reply.Status)
		_, err = w.Write(reply.Data)
	} else {
		err = writeBody(w, r, reply)
	}
	if err != nil {
		return 0, errCut{err}
	}
	return reply.Status, nil
}

// writeBody writes a reply whose body is not there yet, or that has none.
func writeBody(w http.ResponseWriter, r *http.Request, reply *webapi.Reply) error {
	defer reply.Body.Close()
	if reply.Body != http.NoBody {
		// A client that goes away ends the stream, though nothing is being written to it.
		defer context.AfterFunc(r.Context(), func() { _ = reply.Body.Close() })()
	}
	w.WriteHeader(reply.Status)
	length := reply.Length
	if reply.Streamed {
		length = -1
	}
	return copyBody(w, &http.Response{Body: reply.Body, ContentLength: length})
}

func hasBody(status int) bool { return status >= 200 && status != 204 && status != 304 }

// pieceBytes is how much of a streamed response is read at a time.
const pieceBytes = 64 << 10

// copyBody writes a body; what the script writes piece by piece is flushed so.
func copyBody(w http.ResponseWriter, resp *http.Response) error {
	if resp.Body == http.NoBody {
		return nil
	}
	if resp.ContentLength >= 0 {
		_, err := io.Copy(w, resp.Body)
		return err
	}
	flush := http.NewResponseController(w).Flush
	if err := flush(); err != nil {
		return err
	}
	piece := make([]byte, pieceBytes)
	for {
		n, err := resp.Body.Read(piece)
		if _, werr := w.Write(piece[:n]); werr != nil {
			return werr
		}
		if err == io.EOF { //nolint:errorlint // as io.Copy compares it
			return nil
		}
		if ferr := flush(); err == nil {
			err = ferr
		}
		if err != nil {
			return err
		}
	}
}

// failed logs the error of a request and answers it, unless it was answered in part. It returns the status.
func (s *Script) failed(w http.ResponseWriter, r *http.Request, err error) int {
	x, thrown := errors.AsType[*isolate.Exception](err)
	gone := errors.Is(r.Context().Err(), context.Canceled)
	switch {
	case gone:
		s.log.DebugContext(r.Context(), "client went away", "err", err)
	case thrown:
		s.o.OnLog(isolate.Entry{Level: isolate.LevelError, Text: "Uncaught " + x.Stack, Uncaught: x})
	default:
		s.log.WarnContext(r.Context(), "request failed", "err", err)
	}
	if _, cut := errors.AsType[errCut](err); cut || gone {
		return 0
	}
	contentType, text := "text/plain;charset=UTF-8", "Internal Server Error"
	if thrown && s.o.Development {
		contentType, text = describeError(r, x)
	}
	status := http.StatusInternalServerError
	if errors.Is(err, isolate.ErrClosed) || errors.Is(err, isolate.ErrCondemned) {
		status, text, contentType = http.StatusServiceUnavailable, "Service Unavailable", "text/plain;charset=UTF-8"
	}
	w.Header()["Content-Type"] = nil
	if s.o.Development {
		w.Header().Set("Content-Type", contentType)
	}
	w.WriteHeader(status)
	fmt.Fprint(w, text)
	return status
}
