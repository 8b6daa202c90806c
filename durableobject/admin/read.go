package admin

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/durableobject/storage"
	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/v8value"
)

const (
	// maxCount is up to where objects and keys are counted.
	maxCount = 1000
	// maxNamespaces, maxObjects and maxKeys are the greatest page sizes.
	maxNamespaces, maxObjects, maxKeys = 100, 1000, 1000
	// maxReadBytes is how many bytes of keys and values one page of keys reads, maxPageBytes how many of keys and
	// previews it has.
	maxReadBytes = 32 << 20
	maxPageBytes = 8 << 20
	// maxDecodedBytes is the largest value that is decoded for a preview; of larger ones the first bytes are shown.
	maxDecodedBytes = 4 << 20
)

// ListNamespaces implements dopb.AdminServiceServer.
func (s *Service) ListNamespaces(ctx context.Context, r *dopb.ListNamespacesRequest) (
	*dopb.ListNamespacesResponse, error,
) {
	if err := admit(ctx); err != nil {
		return nil, err
	}
	size, err := pageSize(r.GetPageSize(), maxNamespaces)
	if err != nil {
		return nil, err
	}
	after, _, err := parseToken(tokenNamespaces, r.GetPageToken())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	names, served, err := s.namespaces(after, size+1)
	if err != nil {
		return nil, err
	}
	out := &dopb.ListNamespacesResponse{Host: s.info()}
	if len(names) > size {
		names = names[:size]
		out.NextPageToken = token(tokenNamespaces, names[size-1])
	}
	for _, name := range names {
		n, more, err := s.countObjects(name)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		_, known := slices.BinarySearch(served, name)
		out.Namespaces = append(out.Namespaces, &dopb.NamespaceInfo{
			Namespace: name, Served: known, Objects: int32(n), MoreObjects: more,
		})
	}
	return out, s.store.Settle(ctx)
}

// namespaces returns at most limit names after the given one, of those with objects and those with classes, and all
// of the latter.
func (s *Service) namespaces(after string, limit int) (names, served []string, err error) {
	if names, err = s.store.Namespaces(after, limit); err != nil {
		return nil, nil, err
	}
	if s.host != nil {
		served = s.host.Namespaces()
	}
	for _, name := range served {
		if name > after {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(limit, len(names))], served, nil
}

func (s *Service) countObjects(namespace string) (n int, more bool, err error) {
	ids, err := s.store.Objects(namespace, nil, maxCount)
	if err != nil || len(ids) < maxCount {
		return len(ids), false, err
	}
	rest, err := s.store.Objects(namespace, &ids[maxCount-1], 1)
	return maxCount, len(rest) > 0, err
}

// ListObjects implements dopb.AdminServiceServer.
func (s *Service) ListObjects(ctx context.Context, r *dopb.ListObjectsRequest) (*dopb.ListObjectsResponse, error) {
	if err := admit(ctx); err != nil {
		return nil, err
	}
	if err := checkNamespace("namespace", r.GetNamespace()); err != nil {
		return nil, err
	}
	size, err := pageSize(r.GetPageSize(), maxObjects)
	if err != nil {
		return nil, err
	}
	last, ok, err := parseToken(tokenObjects, r.GetPageToken())
	if err != nil {
		return nil, err
	}
	var after *objectid.ID
	if ok {
		if len(last) != objectid.Size {
			return nil, invalid("page_token", "it is not a next_page_token of this list")
		}
		id := objectid.ID([]byte(last))
		after = &id
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	list, err := s.store.Summaries(ctx, r.GetNamespace(), after, size, maxCount)
	if err != nil {
		return nil, err
	}
	out := &dopb.ListObjectsResponse{Objects: make([]*dopb.ObjectSummary, 0, len(list))}
	for i := range list {
		out.Objects = append(out.Objects, s.summary(r.GetNamespace(), &list[i]))
	}
	if len(list) == size {
		end := list[size-1].ID
		rest, err := s.store.Objects(r.GetNamespace(), &end, 1)
		if err != nil {
			return nil, err
		}
		if len(rest) > 0 {
			out.NextPageToken = token(tokenObjects, string(end[:]))
		}
	}
	return out, nil
}

// summary describes one object of a list.
func (s *Service) summary(namespace string, o *storage.Summary) *dopb.ObjectSummary {
	out := &dopb.ObjectSummary{
		ObjectId: o.ID[:], Keys: int32(o.Keys), MoreKeys: o.MoreKeys, Alarm: alarmInfo(o.Alarm),
	}
	if o.HasName {
		name := strings.ToValidUTF8(o.Name, "\ufffd")
		out.ObjectName = &name
	}
	if s.host != nil {
		if a, ok := s.host.Actor(namespace, o.ID); ok {
			out.Actor = actorInfo(a)
		}
	}
	return out
}

func alarmInfo(a *storage.AlarmState) *dopb.AlarmInfo {
	if a == nil {
		return nil
	}
	return &dopb.AlarmInfo{
		ScheduledTime: timestamppb.New(a.ScheduledTime), DueTime: timestamppb.New(a.Due),
		Retries: int32(a.Retries), CountedRetries: int32(a.Counted),
	}
}

func actorInfo(a actor.Snapshot) *dopb.ActorInfo {
	out := &dopb.ActorInfo{Active: int32(a.Active), Waiting: int32(a.Waiting)}
	if a.Active == 0 {
		out.LastActive = timestamppb.New(a.LastActive)
	}
	if a.Reason != actor.NotBroken {
		out.BrokenReason = a.Reason.String()
		if a.Err != nil {
			out.BrokenMessage = strings.ToValidUTF8(a.Err.Error(), "\ufffd")
		}
	}
	return out
}

// GetObject implements dopb.AdminServiceServer.
func (s *Service) GetObject(ctx context.Context, r *dopb.GetObjectRequest) (*dopb.GetObjectResponse, error) {
	if err := admit(ctx); err != nil {
		return nil, err
	}
	o, err := objectOf(r.GetObject())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, ok, err := s.store.Summary(ctx, o.namespace, o.id, maxCount)
	if err != nil {
		return nil, err
	}
	out := s.summary(o.namespace, &found)
	if !ok && out.Actor == nil {
		return nil, notFound(o)
	}
	if o.hasName && out.ObjectName == nil {
		out.ObjectName = &o.name
	}
	return &dopb.GetObjectResponse{Namespace: o.namespace, Object: out, Host: s.info()}, nil
}

// ListKeys implements dopb.AdminServiceServer.
func (s *Service) ListKeys(ctx context.Context, r *dopb.ListKeysRequest) (*dopb.ListKeysResponse, error) {
	if err := admit(ctx); err != nil {
		return nil, err
	}
	o, err := objectOf(r.GetObject())
	if err != nil {
		return nil, err
	}
	after, size, preview, err := keysOf(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	out := &dopb.ListKeysResponse{}
	read, length := 0, 0
	err = s.store.Scan(ctx, o.namespace, o.id, string(r.GetPrefix()), after, func(key, value []byte) (bool, error) {
		if len(out.Keys) == size || read > maxReadBytes || length > maxPageBytes {
			out.NextPageToken = token(tokenKeys, string(out.Keys[len(out.Keys)-1].Key))
			return false, nil
		}
		k := keyInfo(key, value, preview)
		read += len(key) + len(value)
		length += len(key) + len(k.Preview)
		out.Keys = append(out.Keys, k)
		return true, ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// keysOf reads the fields of a request that choose keys.
func keysOf(r *dopb.ListKeysRequest) (after *string, size, preview int, err error) {
	if len(r.GetPrefix()) > maxKeyBytes {
		return nil, 0, 0, invalid("prefix", "it has %d bytes, a key has at most %d", len(r.GetPrefix()), maxKeyBytes)
	}
	if len(r.GetStartAfter()) > maxKeyBytes {
		return nil, 0, 0, invalid("start_after", "it has %d bytes, a key has at most %d",
			len(r.GetStartAfter()), maxKeyBytes)
	}
	if size, err = pageSize(r.GetPageSize(), maxKeys); err != nil {
		return nil, 0, 0, err
	}
	if preview, err = between("preview_bytes", r.GetPreviewBytes(), maxPreviewBytes, defaultPreview); err != nil {
		return nil, 0, 0, err
	}
	last, ok, err := parseToken(tokenKeys, r.GetPageToken())
	switch {
	case err != nil:
		return nil, 0, 0, err
	case ok && len(r.GetStartAfter()) > 0:
		return nil, 0, 0, invalid("start_after", "it can't be given with a page_token")
	case ok:
		after = &last
	case len(r.GetStartAfter()) > 0:
		start := string(r.GetStartAfter())
		after = &start
	}
	return after, size, preview, nil
}

// keyInfo describes one key. It copies what it keeps.
func keyInfo(key, value []byte, preview int) *dopb.KeyInfo {
	k := &dopb.KeyInfo{Key: slices.Clone(key), Size: int64(len(value))}
	if len(value) <= maxDecodedBytes {
		if v, err := v8value.Decode(value); err == nil {
			k.Type = v8value.TypeName(v)
			k.Preview, k.PreviewCut = v8value.Text(v, preview)
			return k
		}
	}
	k.Type = "bytes"
	shown := value[:min(len(value), (preview+1)/2)]
	k.Preview, k.PreviewCut = hex.EncodeToString(shown), len(shown) < len(value)
	return k
}
