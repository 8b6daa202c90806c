package sources

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/pool"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/v8value"
)

const (
	recordPrefix   = "source/"
	secretPrefix   = "secret/"
	documentPrefix = "document/"
	indexPrefix    = "index/"
	toolPrefix     = "tool/"
)

// record is what is stored of a source, beside its secret, its document and its tools. One that is in Sources.records is
// not changed but replaced.
type record struct {
	Source props.Source `json:"source"`
	// Revision is that of the credentials and the document: connections of another one are not used.
	Revision uint64 `json:"revision"`
	// Snapshot is that of the tools, 0 without any.
	Snapshot uint64 `json:"snapshot"`
	// Digest tells whether tools have changed.
	Digest []byte `json:"digest,omitempty"`
	// DocumentURL is where an OpenAPI source's document was found: addresses in it are relative to that.
	DocumentURL string `json:"documentUrl,omitempty"`
	// Server is the origin that an OpenAPI source's secret goes to.
	Server string `json:"server,omitempty"`
}

// Sources is the object with the sources of one organization. All fields are touched in its turns only.
type Sources struct {
	env   *environment
	state *durableobject.State
	// records are all sources, by ID.
	records map[string]*record
	// inspections is how many sources are being asked for their tools.
	inspections int
}

func load(ctx context.Context, env *environment, s *durableobject.State) (*Sources, error) {
	entries, err := s.Storage().List(ctx, storage.ListOptions{Prefix: recordPrefix})
	if err != nil {
		return nil, err
	}
	all := &Sources{env: env, state: s, records: make(map[string]*record, len(entries))}
	for _, e := range entries {
		r := &record{}
		if err := v8value.Unmarshal(e.Value, r); err != nil {
			return nil, fmt.Errorf("value of key %q: %w", e.Key, err)
		}
		all.records[r.Source.ID] = r
	}
	return all, nil
}

// named returns the source of a name, or nil.
func (s *Sources) named(name string) *record {
	for _, r := range s.records {
		if r.Source.Name == name {
			return r
		}
	}
	return nil
}

// find returns a source. It throws props.ErrorNameNotFound.
func (s *Sources) find(id string) (*record, error) {
	if r := s.records[id]; r != nil {
		return r, nil
	}
	return nil, durableobject.Exception(props.ErrorNameNotFound, fmt.Sprintf("there is no source %.100q", id))
}

// sorted returns all sources by name.
func (s *Sources) sorted() []*record {
	all := make([]*record, 0, len(s.records))
	for _, r := range s.records {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *record) int { return strings.Compare(a.Source.Name, b.Source.Name) })
	return all
}

func (s *Sources) list(context.Context, props.SourceQuery) ([]props.Source, error) {
	list := make([]props.Source, 0, len(s.records))
	for _, r := range s.sorted() {
		list = append(list, r.Source)
	}
	return list, nil
}

func (s *Sources) get(_ context.Context, q props.SourceQuery) (props.Source, error) {
	r, err := s.find(q.ID)
	if err != nil {
		return props.Source{}, err
	}
	return r.Source, nil
}

// put stores a record.
func (s *Sources) put(ctx context.Context, r *record) error {
	if err := durableobject.Put(ctx, s.state.Storage(), recordPrefix+r.Source.ID, r); err != nil {
		return err
	}
	s.records[r.Source.ID] = r
	return nil
}

// now is the time for records.
func (s *Sources) now() time.Time { return s.state.Clock().Now().UTC().Truncate(time.Millisecond) }

// key names the connection to a source.
func (s *Sources) key(r *record) pool.Key {
	return pool.Key{Owner: s.state.ID().String(), Source: r.Source.ID, Revision: r.Revision}
}

// associated is what the secret of a source is sealed for.
func (s *Sources) associated(id string) []byte {
	return []byte("tandem source secret\x00" + s.state.ID().String() + "\x00" + id)
}

// storeSecret seals a secret and stores it; an empty one is removed.
func (s *Sources) storeSecret(ctx context.Context, id, secret string) error {
	if secret == "" {
		_, err := durableobject.Delete(ctx, s.state.Storage(), secretPrefix+id)
		return err
	}
	sealer, err := s.env.Sealer()
	if err != nil {
		return err
	}
	return durableobject.Put(ctx, s.state.Storage(), secretPrefix+id, sealer.Seal([]byte(secret), s.associated(id)))
}

// credentials returns those of a source.
func (s *Sources) credentials(ctx context.Context, r *record) (props.SourceCredentials, error) {
	auth := props.SourceCredentials{Kind: r.Source.Auth.Kind, Header: r.Source.Auth.Header}
	if auth.Kind == props.SourceAuthNone {
		return auth, nil
	}
	sealed, ok, err := durableobject.Get[[]byte](ctx, s.state.Storage(), secretPrefix+r.Source.ID)
	if err != nil {
		return auth, err
	}
	if !ok || s.env.Sealer == nil {
		return auth, fmt.Errorf("no secret of source %s can be had", r.Source.ID)
	}
	sealer, err := s.env.Sealer()
	if err != nil {
		return auth, err
	}
	secret, err := sealer.Open(sealed, s.associated(r.Source.ID))
	auth.Secret = string(secret)
	return auth, err
}

// clone returns a copy of a record, to be changed and put.
func (r *record) clone() *record {
	c := *r
	return &c
}

// page cuts a list to a page of at most limit from offset on.
func page[T any](list []T, offset, limit int) []T {
	offset = min(max(offset, 0), len(list))
	return list[offset:min(len(list), offset+max(limit, 0))]
}

// orDefault is the limit of a page, at most most.
func orDefault(limit, standard, most int) int { return min(cmp.Or(max(limit, 0), standard), most) }
