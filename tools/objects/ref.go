package objects

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tandem-do/tandem/durableobject/admin"
	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/objectid"
)

// Ref names one object.
type Ref struct {
	// Namespace is the unique key of its class.
	Namespace string
	// ID is the object.
	ID  objectid.ID
	ref *dopb.ObjectRef
}

// NewRef reads how people name an object: by its ID in hex digits, or by its name if that is not nil.
func NewRef(namespace, id string, name *string) (Ref, error) {
	if name != nil {
		if id != "" {
			return Ref{}, errors.New("give either an ID or --name, not both")
		}
		return Ref{namespace, objectid.NewNamespace(namespace).FromName(*name), &dopb.ObjectRef{
			Namespace: namespace, Object: &dopb.ObjectRef_ObjectName{ObjectName: *name},
		}}, nil
	}
	if id == "" {
		return Ref{}, errors.New("which object? Give its ID of 64 hex digits, or --name")
	}
	parsed, err := objectid.NewNamespace(namespace).Parse(id)
	if errors.Is(err, objectid.ErrNamespace) {
		return Ref{}, fmt.Errorf("%s is no ID of namespace %q: a digit is wrong, or the namespace", id, namespace)
	}
	if err != nil {
		return Ref{}, fmt.Errorf("%q is no object ID, which has 64 hex digits; for a name give --name", id)
	}
	return Ref{namespace, parsed, &dopb.ObjectRef{
		Namespace: namespace, Object: &dopb.ObjectRef_ObjectId{ObjectId: parsed[:]},
	}}, nil
}

// String returns namespace and ID.
func (r Ref) String() string { return visible(r.Namespace) + " " + r.ID.String() }

// explain makes an error of a call one for people.
func (c *Client) explain(err error) error {
	s, ok := status.FromError(err)
	if !ok || err == nil {
		return err
	}
	switch s.Code() {
	case codes.Unavailable:
		where := c.options.Address
		if where == "" {
			where = "the stack on " + c.options.StateDir
		}
		return fmt.Errorf("the object host of %s can't be reached or is draining: %s", where, s.Message())
	case codes.Unimplemented:
		return errors.New("what answers there is no object host of this version: " + s.Message())
	case codes.DeadlineExceeded:
		return errors.New("the object host took too long; try again, or with a smaller --limit")
	case codes.Canceled:
		return errors.New("interrupted")
	}
	return errors.New(advised(s.Message()))
}

// advised returns a message of the service with the flag that helps.
func advised(message string) string {
	field, text, _ := strings.Cut(message, ": ")
	switch field {
	case "early":
		return strings.TrimSuffix(text, ", and early is not set") + "; give --early to run it now"
	case "overwrite":
		return strings.TrimSuffix(text, ", and overwrite is not set") + "; give --overwrite to replace it"
	case "page_token":
		return "--cursor is not one that an earlier list has named"
	case "data":
		return "the archive: " + text
	case admin.ErrActive.Error():
		return message + "; give --wait and a time, or abort it"
	}
	return message
}
