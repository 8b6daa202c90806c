package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// store is the directory over database/sql. Its statements are written so that both databases take them: parameters
// are $1, $2, … in the order of their first appearance.
type store struct {
	db *sql.DB
}

var _ Directory = (*store)(nil)

// Organization implements Directory.
func (s *store) Organization(ctx context.Context, accountID, organizationID string) (Membership, error) {
	m, err := s.membership(ctx, `
		SELECT u.id, u.email, o.id, o.name
		FROM directory_memberships m
		JOIN directory_users u ON u.id = m.account_id
		JOIN directory_organizations o ON o.id = m.organization_id
		WHERE m.account_id = $1 AND m.organization_id = $2`, accountID, organizationID)
	if errors.Is(err, sql.ErrNoRows) {
		return Membership{}, ErrNotMember
	}
	return m, unavailable("read membership", err)
}

// FindUserByEmail implements Directory.
func (s *store) FindUserByEmail(ctx context.Context, email string) (User, error) {
	email, err := normalEmail(email)
	if err != nil {
		return User{}, err
	}
	u, err := s.membership(ctx, `
		SELECT u.id, u.email, o.id, o.name
		FROM directory_users u
		JOIN directory_memberships m ON m.account_id = u.id
		JOIN directory_organizations o ON o.id = m.organization_id
		WHERE u.email = $1
		ORDER BY m.created_at, o.id
		LIMIT 1`, email)
	if errors.Is(err, sql.ErrNoRows) {
		return User{}, ErrUserNotFound
	}
	return u, unavailable("find user", err)
}

// membership reads one row of account and organization. Errors: sql.ErrNoRows and the database's.
func (s *store) membership(ctx context.Context, query string, args ...any) (Membership, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var m Membership
	err := s.db.QueryRowContext(ctx, query, args...).
		Scan(&m.AccountID, &m.Email, &m.OrganizationID, &m.OrganizationName)
	if err != nil {
		return Membership{}, err
	}
	return m, nil
}

// CreateUserWithOrganization implements Directory.
func (s *store) CreateUserWithOrganization(ctx context.Context, n NewUser) (User, error) {
	email, err := normalEmail(n.Email)
	if err != nil {
		return User{}, err
	}
	name, err := organizationName(n.OrganizationName, email)
	if err != nil {
		return User{}, err
	}
	u := User{
		AccountID: "user_" + uuid.NewString(), Email: email,
		OrganizationID: "org_" + uuid.NewString(), OrganizationName: name,
	}
	created, err := s.insert(ctx, u)
	if err != nil {
		return User{}, unavailable("create user", err)
	}
	if !created {
		return s.FindUserByEmail(ctx, email)
	}
	return u, nil
}

// insert writes a user, its organization and its membership, or nothing if the address is taken; it reports which.
// The unique address is the arbiter: a second writer waits for the first to commit and then inserts no row.
func (s *store) insert(ctx context.Context, u User) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback() // does nothing after Commit
	at := time.Now().UnixMilli()
	res, err := tx.ExecContext(ctx, `
		INSERT INTO directory_users (id, email, created_at) VALUES ($1, $2, $3)
		ON CONFLICT (email) DO NOTHING`, u.AccountID, u.Email, at)
	if err != nil {
		return false, err
	}
	if rows, err := res.RowsAffected(); err != nil || rows == 0 {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, `
		INSERT INTO directory_organizations (id, name, created_at) VALUES ($1, $2, $3)`,
		u.OrganizationID, u.OrganizationName, at); err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, `
		INSERT INTO directory_memberships (account_id, organization_id, created_at) VALUES ($1, $2, $3)`,
		u.AccountID, u.OrganizationID, at); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

// Close implements Directory.
func (s *store) Close() error { return s.db.Close() }

// unavailable wraps the database's error, if there is one, so that it matches ErrUnavailable.
func unavailable(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, what, err)
}
