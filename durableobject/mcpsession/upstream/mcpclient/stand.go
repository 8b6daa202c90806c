package mcpclient

import (
	"context"
	"io"
	"net/http"
	"time"
)

const (
	// standTimeout is how long a server has to begin the stream that it may send on at any time.
	standTimeout = 5 * time.Second
	// maxStandPause bounds the pause before the stream is opened again, which grows by a second each time.
	maxStandPause = time.Minute
)

// stand opens the standing stream of a session, on which a server sends what belongs to no call. It is a convenience: a
// server that has none, or does not begin it in time, has a session all the same. x is nil when it is opened again.
func (m *meter) stand(req *http.Request, x *exchange) (*http.Response, error) {
	if x == nil {
		return m.standAgain(req)
	}
	m.stood.Store(0)
	ctx, cancel := context.WithCancel(req.Context())
	late := time.AfterFunc(standTimeout, cancel)
	resp, err := m.base.RoundTrip(req.WithContext(ctx))
	if err == nil && late.Stop() && resp.StatusCode == http.StatusOK {
		resp.Body = &standing{resp.Body, cancel}
		return resp, nil
	}
	if err == nil {
		_ = resp.Body.Close()
	}
	cancel()
	late.Stop()
	return &http.Response{
		StatusCode: http.StatusMethodNotAllowed, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}, nil
}

// standAgain opens a stream that has ended once more. A server that ends it at once is not asked at once.
func (m *meter) standAgain(req *http.Request) (*http.Response, error) {
	pause := time.NewTimer(min(time.Duration(m.stood.Add(1))*time.Second, maxStandPause))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-req.Context().Done():
		return nil, context.Cause(req.Context())
	}
	resp, err := m.base.RoundTrip(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		resp = bounded(resp)
	}
	return resp, err
}

// standing is the body of a standing stream, with what ends its request.
type standing struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close closes the body and its request.
func (s *standing) Close() error {
	err := s.ReadCloser.Close()
	s.cancel()
	return err
}
