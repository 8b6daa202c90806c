package directory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Limits on what the directory stores.
const (
	// MaxEmailBytes is the longest e-mail address taken.
	MaxEmailBytes = 254
	// MaxNameBytes is the longest name of an organization taken.
	MaxNameBytes = 128
)

var (
	// ErrNotMember is returned by Organization when the account is not a member of the organization, or either does
	// not exist.
	ErrNotMember = errors.New("directory: not a member of this organization")
	// ErrUserNotFound is returned by FindUserByEmail.
	ErrUserNotFound = errors.New("directory: no user has this e-mail address")
	// ErrInvalid is wrapped by the errors for arguments that the directory does not take.
	ErrInvalid = errors.New("directory: invalid argument")
	// ErrUnavailable is wrapped by the errors of a database that cannot be reached or does not answer in time.
	ErrUnavailable = errors.New("directory: unavailable")
	// ErrNewerSchema is wrapped by Open's error for a database that a newer version has written to.
	ErrNewerSchema = errors.New("directory: the database has a newer schema")
)

// Membership is one account in one organization.
type Membership struct {
	// AccountID and Email are the account's; AccountID is the subject of its tokens.
	AccountID string
	Email     string
	// OrganizationID and OrganizationName are the organization's.
	OrganizationID   string
	OrganizationName string
}

// User is an account and the organization it joined first, which it acts for unless it says otherwise.
type User = Membership

// NewUser is an account to make.
type NewUser struct {
	// Email identifies the account. Case is not kept.
	Email string
	// OrganizationName is the display name of the account's own new organization; default: a name made from Email.
	OrganizationName string
}

// Directory is what the worker and the authorization server need of it. Close it to end its connections.
type Directory interface {
	// Organization returns the account's membership of the organization. Errors: ErrNotMember, ErrUnavailable.
	Organization(ctx context.Context, accountID, organizationID string) (Membership, error)
	// FindUserByEmail returns the user with this address. Errors: ErrUserNotFound, ErrInvalid, ErrUnavailable.
	FindUserByEmail(ctx context.Context, email string) (User, error)
	// CreateUserWithOrganization makes a user with an organization of their own, or returns the one that has the
	// address already. Errors: ErrInvalid, ErrUnavailable.
	CreateUserWithOrganization(ctx context.Context, u NewUser) (User, error)
	// Close ends the connections.
	Close() error
}

// Open opens the directory at dsn, "sqlite:PATH" or "postgres://…", and brings its schema up to date. It waits at
// most ten seconds. Errors: ErrInvalid for a DSN of neither form, ErrNewerSchema, ErrUnavailable. No error holds
// the DSN's password.
func Open(ctx context.Context, dsn string) (Directory, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	switch {
	case strings.HasPrefix(dsn, "sqlite:"):
		return openSQLite(ctx, strings.TrimPrefix(dsn, "sqlite:"))
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		return openPostgres(ctx, dsn)
	}
	return nil, fmt.Errorf("%w: the directory must be sqlite:PATH or postgres://…", ErrInvalid)
}

// How long the directory waits for its database.
const (
	openTimeout  = 10 * time.Second
	queryTimeout = 5 * time.Second
)

// normalEmail returns the form in which an address is stored and compared.
func normalEmail(email string) (string, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	local, domain, ok := strings.Cut(email, "@")
	switch {
	case !ok, local == "", domain == "", strings.Contains(domain, "@"), strings.ContainsFunc(email, isForbidden):
		return "", fmt.Errorf("%w: not an e-mail address", ErrInvalid)
	case len(email) > MaxEmailBytes:
		return "", fmt.Errorf("%w: an e-mail address has at most %d bytes", ErrInvalid, MaxEmailBytes)
	}
	return email, nil
}

// isForbidden reports characters that no address may hold: spaces, controls and angle brackets.
func isForbidden(r rune) bool { return r <= ' ' || r == 0x7f || r == '<' || r == '>' || r == 0xfffd }

// organizationName returns the name to store, made from the address when none is given.
func organizationName(name, email string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		local, _, _ := strings.Cut(email, "@")
		name = truncate(local, MaxNameBytes-len("'s organization")) + "'s organization"
	}
	if len(name) > MaxNameBytes {
		return "", fmt.Errorf("%w: the name of an organization has at most %d bytes", ErrInvalid, MaxNameBytes)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
		return "", fmt.Errorf("%w: the name of an organization holds a control character", ErrInvalid)
	}
	return name, nil
}

// truncate cuts s to at most n bytes, at a rune's start.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}
