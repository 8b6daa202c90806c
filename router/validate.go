package router

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tandem-do/tandem/proto/objectid"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
)

const (
	// idDigits is the length of a host_id and of an incarnation.
	idDigits = 32
	// maxAddressBytes is the longest address of a host.
	maxAddressBytes = 1024
	// maxNamespaces is how many classes a host may serve.
	maxNamespaces = 1000
	// maxKnownEpoch leaves room for as many epochs as will ever be granted.
	maxKnownEpoch = 1 << 62
)

func invalid(format string, args ...any) error {
	return status.Error(codes.InvalidArgument, fmt.Sprintf(format, args...))
}

func validateJoin(r *routerpb.JoinRequest) error {
	if err := validateID("host_id", r.GetHostId()); err != nil {
		return err
	}
	if err := validateID("incarnation", r.GetIncarnation()); err != nil {
		return err
	}
	if err := validateAddress(r.GetAddress()); err != nil {
		return err
	}
	if r.GetKnownEpoch() > maxKnownEpoch {
		return invalid("known_epoch is %d, at most %d is allowed", r.GetKnownEpoch(), uint64(maxKnownEpoch))
	}
	if n := len(r.GetNamespaces()); n > maxNamespaces {
		return invalid("namespaces has %d entries, at most %d are allowed", n, maxNamespaces)
	}
	for i, ns := range r.GetNamespaces() {
		if err := validateNamespace(fmt.Sprintf("namespaces[%d]", i), ns); err != nil {
			return err
		}
	}
	return nil
}

func validateAddress(address string) error {
	switch n := len(address); {
	case n == 0:
		return invalid("address is empty")
	case n > maxAddressBytes:
		return invalid("address has %d bytes, at most %d are allowed", n, maxAddressBytes)
	}
	return nil
}

func validateLease(hostID string, epoch uint64) error {
	if err := validateID("host_id", hostID); err != nil {
		return err
	}
	if epoch == 0 {
		return invalid("epoch is zero")
	}
	return nil
}

func validateLocate(r *routerpb.LocateRequest) error {
	if err := validateNamespace("namespace", r.GetNamespace()); err != nil {
		return err
	}
	if n := len(r.GetObjectId()); n != objectid.Size {
		return invalid("object_id has %d bytes, want %d", n, objectid.Size)
	}
	return nil
}

func validateNamespace(field, namespace string) error {
	switch n := len(namespace); {
	case n == 0:
		return invalid("%s is empty", field)
	case n > sidecar.MaxNamespaceBytes:
		return invalid("%s has %d bytes, at most %d are allowed", field, n, sidecar.MaxNamespaceBytes)
	case strings.IndexByte(namespace, 0) >= 0:
		return invalid("%s holds a NUL byte", field)
	}
	return nil
}

func validateID(field, id string) error {
	if len(id) != idDigits || strings.Trim(id, "0123456789abcdef") != "" {
		return invalid("%s must be %d lower-case hex digits", field, idDigits)
	}
	return nil
}
