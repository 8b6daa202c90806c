package mcpsession

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/proto/props"
)

// Limits of what one session keeps for clients that come back with Last-Event-ID.
const (
	maxEvents     = 256
	maxEventBytes = 1 << 20
	// maxEventStreams is how many streams are kept, of those that have had their answer; maxOpenStreams how many at all.
	maxEventStreams = 64
	maxOpenStreams  = 1024
)

var errUnknownStream = errors.New("no such stream in this session")

// eventStore keeps the latest events of one session's streams, as many as the limits allow, the oldest going first. A
// stream that waits for its answer stays when those that have theirs go. An event that exceeds the limits alone is not
// kept; it is delivered live only. In the place of such an answer an error is kept, so that nobody waits for it.
type eventStore struct {
	// session is the only session that it answers for.
	session string
	// opened and answered, where set, are told of a new stream and of each call's answer, before it is delivered. The id
	// is in the form of rpcID.
	opened   func(ctx context.Context, stream string)
	answered func(id string)

	// mu guards the fields below.
	mu      sync.Mutex
	streams map[string]*eventList
	// order has the stream of each event kept, oldest first; made has the streams in the order in which they were made.
	order []string
	made  []string
	bytes int
}

// eventList is what is kept of one stream.
type eventList struct {
	// first is the index of the first event in data.
	first int
	data  [][]byte
	// answered is true once the stream has had an answer, most often its only one.
	answered bool
}

var _ mcp.EventStore = (*eventStore)(nil)

func newEventStore(session string) *eventStore {
	return &eventStore{session: session, streams: map[string]*eventList{}}
}

// Open implements mcp.EventStore.
func (s *eventStore) Open(ctx context.Context, session, stream string) error {
	if session != s.session {
		return errUnknownStream
	}
	s.mu.Lock()
	if s.streams[stream] == nil {
		s.streams[stream] = &eventList{}
		if stream != "" { // the standalone stream stays
			s.made = append(s.made, stream)
		}
		s.forgetSome()
	}
	s.mu.Unlock()
	if s.opened != nil {
		s.opened(ctx, stream)
	}
	return nil
}

// forgetSome drops streams that are too many. The caller holds mu.
func (s *eventStore) forgetSome() {
	if len(s.made) <= maxEventStreams {
		return
	}
	oldest := slices.IndexFunc(s.made, func(stream string) bool { return s.streams[stream].answered })
	switch {
	case oldest >= 0:
		s.forget(oldest)
	case len(s.made) > maxOpenStreams:
		s.forget(0)
	}
}

// forget drops the i-th of the streams made. The caller holds mu.
func (s *eventStore) forget(i int) {
	stream := s.made[i]
	for _, d := range s.streams[stream].data {
		s.bytes -= len(d)
	}
	delete(s.streams, stream)
	s.made = slices.Delete(s.made, i, i+1)
	s.order = slices.DeleteFunc(s.order, func(of string) bool { return of == stream })
}

// Append implements mcp.EventStore.
func (s *eventStore) Append(_ context.Context, session, stream string, data []byte) error {
	if session != s.session {
		return errUnknownStream
	}
	id, answer := answeredID(data)
	if answer && s.answered != nil {
		s.answered(id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.streams[stream]
	if list == nil {
		return errUnknownStream
	}
	list.answered = list.answered || answer
	if answer && len(data) > maxEventBytes {
		data = answerTooLarge(id)
	}
	if len(data) > maxEventBytes {
		s.skip(stream, list)
		return nil
	}
	list.data = append(list.data, data)
	s.order = append(s.order, stream)
	s.bytes += len(data)
	for len(s.order) > maxEvents || s.bytes > maxEventBytes {
		oldest := s.streams[s.order[0]]
		s.bytes -= len(oldest.data[0])
		oldest.data[0] = nil
		oldest.data = oldest.data[1:]
		oldest.first++
		s.order = s.order[1:]
	}
	return nil
}

// answerTooLarge is kept in the place of the answer to a call.
func answerTooLarge(id string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, rawRPCID(id),
		props.CodeTransport, quoteJSON("the connection was lost, and the answer was too large to be kept"))
}

// skip counts an event that is not kept: what came before it can't be replayed either, for a replay has no gaps. The
// caller holds mu.
func (s *eventStore) skip(stream string, list *eventList) {
	for _, d := range list.data {
		s.bytes -= len(d)
	}
	s.order = slices.DeleteFunc(s.order, func(of string) bool { return of == stream })
	list.first += len(list.data) + 1
	list.data = nil
}

// After implements mcp.EventStore.
func (s *eventStore) After(_ context.Context, session, stream string, index int) iter.Seq2[[]byte, error] {
	data, err := s.after(session, stream, index)
	return func(yield func([]byte, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		for _, d := range data {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func (s *eventStore) after(session, stream string, index int) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.streams[stream]
	if session != s.session || list == nil {
		return nil, errUnknownStream
	}
	start := index + 1 - list.first
	switch {
	case stream == "" && index < 0:
		return nil, nil // a fresh GET asks for nothing that was
	case start < 0:
		return nil, mcp.ErrEventsPurged
	case start >= len(list.data):
		return nil, nil
	}
	return slices.Clone(list.data[start:]), nil
}

// SessionClosed implements mcp.EventStore.
func (s *eventStore) SessionClosed(context.Context, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams, s.order, s.made, s.bytes = map[string]*eventList{}, nil, nil, 0
	return nil
}
