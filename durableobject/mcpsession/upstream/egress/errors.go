package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// Error words a failure of a client's request, or of reading its response, for a program. The result holds no part of the
// request: an address may hold a key, and http.Client puts it into each error.
func Error(err error) *upstream.Error {
	if worded, ok := errors.AsType[*upstream.Error](err); ok {
		return worded
	}
	return upstream.Errorf(upstream.CodeUnavailable, "the source %s", cause(err))
}

func cause(err error) string {
	timeout, isNet := errors.AsType[net.Error](err)
	_, isName := errors.AsType[*net.DNSError](err)
	_, isVerification := errors.AsType[*tls.CertificateVerificationError](err)
	_, isRecord := errors.AsType[tls.RecordHeaderError](err)
	_, isAuthority := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return "was not waited for"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), isNet && timeout.Timeout():
		return "did not answer in time"
	case isName:
		return "could not be reached: its name does not resolve"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "could not be reached: connection refused"
	case isVerification, isAuthority:
		return "could not be reached: its certificate is not valid"
	case isRecord:
		return "could not be reached: it does not speak TLS there"
	default:
		return "could not be reached, or broke off"
	}
}
