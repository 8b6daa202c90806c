package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

const (
	// listPage and keysPage are how much is asked for at a time.
	listPage, keysPage = 500, 200
	// wholeValue is how much of a value is shown where one key is asked for.
	wholeValue = 1 << 20
)

// Namespaces prints the namespaces.
func (c *Client) Namespaces(ctx context.Context) error {
	p := c.printer("NAMESPACE", "OBJECTS", "CLASS")
	err := c.eachNamespace(ctx, func(n *dopb.NamespaceInfo, host *dopb.HostInfo) error {
		class := "served"
		switch {
		case host.GetAtRest():
			class = "at rest"
		case !n.GetServed():
			class = "none"
		}
		return p.row(namespaceJSON(n), visible(n.GetNamespace()), count(n.GetObjects(), n.GetMoreObjects()), class)
	})
	return errors.Join(c.explain(err), p.end("no objects yet"))
}

func (c *Client) eachNamespace(ctx context.Context, f func(*dopb.NamespaceInfo, *dopb.HostInfo) error) error {
	q := &dopb.ListNamespacesRequest{}
	for {
		r, err := c.source.ListNamespaces(ctx, q)
		if err != nil {
			return err
		}
		for _, n := range r.GetNamespaces() {
			if err := f(n, r.GetHost()); err != nil {
				return err
			}
		}
		if q.PageToken = r.GetNextPageToken(); q.PageToken == "" {
			return nil
		}
	}
}

// ListOptions choose what List prints.
type ListOptions struct {
	// Limit is the greatest number of objects; 0 means all.
	Limit int
	// Cursor goes on where an earlier List said that there is more.
	Cursor string
}

// List prints the objects of a namespace.
func (c *Client) List(ctx context.Context, namespace string, o ListOptions) error {
	p := c.printer("OBJECT", "NAME", "KEYS", "ALARM", "STATE")
	q := &dopb.ListObjectsRequest{Namespace: namespace, PageToken: o.Cursor}
	printed := 0
	for {
		q.PageSize = pageOf(o.Limit, printed, listPage)
		r, err := c.source.ListObjects(ctx, q)
		if err != nil {
			return errors.Join(c.explain(err), p.end(""))
		}
		for _, s := range r.GetObjects() {
			name := ""
			if s.ObjectName != nil {
				name = visible(s.GetObjectName())
			}
			if err := p.row(objectJSON(namespace, s), hexID(s.GetObjectId()), name, count(s.GetKeys(), s.GetMoreKeys()),
				c.alarmShort(s.GetAlarm()), c.actorText(s.GetActor())); err != nil {
				return err
			}
		}
		printed += len(r.GetObjects())
		switch q.PageToken = r.GetNextPageToken(); {
		case q.PageToken == "" && printed == 0 && o.Cursor == "":
			if err := c.noObjects(ctx, namespace); err != nil {
				return err
			}
			return p.end("no objects")
		case q.PageToken == "":
			return p.end("")
		case o.Limit > 0 && printed >= o.Limit:
			return p.more("more: --cursor "+q.PageToken, map[string]any{"next_cursor": q.PageToken})
		}
	}
}

// pageOf returns how much to ask for next.
func pageOf(limit, printed, page int) int32 {
	if limit > 0 {
		page = min(page, limit-printed)
	}
	return int32(page)
}

// noObjects is nil for a namespace that is known, and otherwise names the known ones.
func (c *Client) noObjects(ctx context.Context, namespace string) error {
	var names []string
	known := false
	err := c.eachNamespace(ctx, func(n *dopb.NamespaceInfo, _ *dopb.HostInfo) error {
		known = known || n.GetNamespace() == namespace
		names = append(names, n.GetNamespace())
		return nil
	})
	switch {
	case err != nil:
		return c.explain(err)
	case known:
		return nil
	case len(names) == 0:
		return fmt.Errorf("there is no namespace %q, nor any other with objects", namespace)
	}
	near := slices.MinFunc(names, func(a, b string) int {
		return levenshtein.Distance(a, namespace, nil) - levenshtein.Distance(b, namespace, nil)
	})
	text := fmt.Sprintf("there is no namespace %q", namespace)
	if levenshtein.Distance(near, namespace, nil) <= max(2, len(namespace)/3) {
		return fmt.Errorf("%s; did you mean %s?", text, near)
	}
	return fmt.Errorf("%s; there are %s", text, strings.Join(names[:min(len(names), 20)], ", "))
}

// ShowOptions choose what Show prints of an object's keys.
type ShowOptions struct {
	// Prefix is what keys must begin with, After leaves out this one and those before it.
	Prefix, After string
	// Key, if not nil, is the only one to print, with its whole value.
	Key *string
	// Limit is the greatest number of keys; 0 means all.
	Limit int
}

// Show prints what is known of one object, and its keys.
func (c *Client) Show(ctx context.Context, ref Ref, o ShowOptions) error {
	if o.Key != nil {
		return c.showKey(ctx, ref, *o.Key)
	}
	r, err := c.source.GetObject(ctx, &dopb.GetObjectRequest{Object: ref.ref})
	if err != nil {
		return c.explain(err)
	}
	if err := c.printObject(r); err != nil {
		return err
	}
	p := c.printer("KEY", "TYPE", "SIZE", "VALUE")
	q := &dopb.ListKeysRequest{Object: ref.ref, Prefix: []byte(o.Prefix), StartAfter: []byte(o.After)}
	printed := 0
	for {
		q.PageSize = pageOf(o.Limit, printed, keysPage)
		page, err := c.source.ListKeys(ctx, q)
		if err != nil {
			return errors.Join(c.explain(err), p.end(""))
		}
		last := ""
		for _, k := range page.GetKeys() {
			last = string(k.GetKey())
			if err := p.row(keyJSON(k), visible(last), k.GetType(), bytesText(k.GetSize()), previewText(k)); err != nil {
				return err
			}
		}
		printed += len(page.GetKeys())
		q.StartAfter, q.PageToken = nil, page.GetNextPageToken()
		switch {
		case q.PageToken == "" && printed == 0:
			return p.end("no such keys")
		case q.PageToken == "":
			return p.end("")
		case o.Limit > 0 && printed >= o.Limit:
			return p.more("more: --after "+visible(last), map[string]any{"next_after": strings.ToValidUTF8(last, "\ufffd")})
		}
	}
}

// showKey prints one key and its value.
func (c *Client) showKey(ctx context.Context, ref Ref, key string) error {
	q := &dopb.ListKeysRequest{Object: ref.ref, Prefix: []byte(key), PageSize: 1, PreviewBytes: wholeValue}
	r, err := c.source.ListKeys(ctx, q)
	if err != nil {
		return c.explain(err)
	}
	if len(r.GetKeys()) == 0 || string(r.GetKeys()[0].GetKey()) != key {
		return fmt.Errorf("object %s has no key %s", ref, visible(key))
	}
	k := r.GetKeys()[0]
	if c.options.JSON {
		return c.document(keyJSON(k))
	}
	_, err = fmt.Fprintln(c.options.Stdout, previewText(k))
	return err
}

// printObject prints what is known of an object but its keys.
func (c *Client) printObject(r *dopb.GetObjectResponse) error {
	s, host := r.GetObject(), r.GetHost()
	if c.options.JSON {
		return c.document(struct {
			object
			Host hostDoc `json:"host"`
		}{objectJSON(r.GetNamespace(), s), hostJSON(host)})
	}
	name := "unknown"
	if s.ObjectName != nil {
		name = visible(s.GetObjectName())
	}
	where := fmt.Sprintf("%s, epoch %d", host.GetHostId(), host.GetEpoch())
	switch {
	case host.GetAtRest():
		where += ", at rest"
	case host.GetDraining():
		where += ", draining"
	}
	return c.facts([][2]string{
		{"Namespace", visible(r.GetNamespace())}, {"Object", hexID(s.GetObjectId())}, {"Name", name},
		{"State", c.actorText(s.GetActor())}, {"Alarm", c.alarmLong(s.GetAlarm())},
		{"Keys", count(s.GetKeys(), s.GetMoreKeys())}, {"Host", where},
	})
}
