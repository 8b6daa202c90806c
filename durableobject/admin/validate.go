package admin

import (
	"encoding/base64"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/objectid"
)

const (
	maxNamespaceBytes = 512
	maxKeyBytes       = 65535
	maxMessageBytes   = 1024
	maxPreviewBytes   = 1 << 20
	defaultPreview    = 200
	defaultPage       = 100
	// maxTokenBytes is the longest page token: a key, its kind, and their encoding.
	maxTokenBytes = (maxKeyBytes + 1) / 3 * 4
)

// object is an object that a request names.
type object struct {
	namespace string
	id        objectid.ID
	name      string
	hasName   bool
}

// invalid returns the error for a bad field.
func invalid(field, format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, field+": "+format, args...)
}

func checkNamespace(field, namespace string) error {
	if namespace == "" || len(namespace) > maxNamespaceBytes || strings.IndexByte(namespace, 0) >= 0 {
		return invalid(field, "it must be 1 to %d bytes without NUL", maxNamespaceBytes)
	}
	return nil
}

// objectOf reads the field "object".
func objectOf(r *dopb.ObjectRef) (object, error) {
	if r == nil {
		return object{}, invalid("object", "it is missing")
	}
	o := object{namespace: r.GetNamespace()}
	if err := checkNamespace("object.namespace", o.namespace); err != nil {
		return o, err
	}
	switch which := r.GetObject().(type) {
	case *dopb.ObjectRef_ObjectId:
		if len(which.ObjectId) != objectid.Size {
			return o, invalid("object.object_id", "it has %d bytes, an ID has %d", len(which.ObjectId), objectid.Size)
		}
		o.id = objectid.ID(which.ObjectId)
	case *dopb.ObjectRef_ObjectName:
		if len(which.ObjectName) > objectid.MaxNameBytes {
			return o, invalid("object.object_name", "it has %d bytes, a name has at most %d",
				len(which.ObjectName), objectid.MaxNameBytes)
		}
		o.name, o.hasName = which.ObjectName, true
		o.id = objectid.NewNamespace(o.namespace).FromName(o.name)
	default:
		return o, invalid("object", "it names neither object_id nor object_name")
	}
	return o, nil
}

// pageSize reads the field "page_size".
func pageSize(size, most int32) (int, error) {
	if size < 0 || size > most {
		return 0, invalid("page_size", "it is %d, want 0 to %d", size, most)
	}
	if size == 0 {
		return min(defaultPage, int(most)), nil
	}
	return int(size), nil
}

// between reads a number with a default.
func between(field string, v, most, normal int32) (int, error) {
	if v < 0 || v > most {
		return 0, invalid(field, "it is %d, want 0 to %d", v, most)
	}
	if v == 0 {
		return int(normal), nil
	}
	return int(v), nil
}

// waitOf reads the field "wait".
func waitOf(d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	if wait := d.AsDuration(); d.CheckValid() == nil && wait >= 0 && wait <= MaxWait {
		return wait, nil
	}
	return 0, invalid("wait", "it must be 0 to %s", MaxWait)
}

// The kinds of page tokens; each list has its own.
const (
	tokenNamespaces = 'n'
	tokenObjects    = 'o'
	tokenKeys       = 'k'
)

// token returns the page token of the page after last.
func token(kind byte, last string) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{kind}, last...))
}

// parseToken reads the field "page_token"; ok is false if it is empty.
func parseToken(kind byte, text string) (last string, ok bool, err error) {
	if text == "" {
		return "", false, nil
	}
	if len(text) <= maxTokenBytes {
		b, err := base64.RawURLEncoding.DecodeString(text)
		if err == nil && len(b) > 0 && b[0] == kind {
			return string(b[1:]), true, nil
		}
	}
	return "", false, invalid("page_token", "it is not a next_page_token of this list")
}
