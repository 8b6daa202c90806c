package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// migrations returns the statements that lead from each version of the schema to the next: those at index i lead
// from version i to i+1. Entries are only ever appended.
func migrations() [][]string {
	return [][]string{{
		`CREATE TABLE directory_users (
			id TEXT PRIMARY KEY,
			email TEXT NOT NULL UNIQUE,
			created_at BIGINT NOT NULL
		)`,
		`CREATE TABLE directory_organizations (
			id TEXT PRIMARY KEY,
			name TEXT NOT NULL,
			created_at BIGINT NOT NULL
		)`,
		`CREATE TABLE directory_memberships (
			account_id TEXT NOT NULL REFERENCES directory_users (id),
			organization_id TEXT NOT NULL REFERENCES directory_organizations (id),
			created_at BIGINT NOT NULL,
			PRIMARY KEY (account_id, organization_id)
		)`,
	}}
}

// migrate brings the schema to the newest version within tx, which the caller has made the only writer. It changes
// nothing when the database's version is newer than any it knows.
func migrate(ctx context.Context, tx *sql.Tx, hasVersionTable bool) error {
	steps := migrations()
	version := 0
	if hasVersionTable {
		err := tx.QueryRowContext(ctx, `SELECT version FROM directory_schema`).Scan(&version)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	} else if _, err := tx.ExecContext(ctx, `CREATE TABLE directory_schema (version INTEGER NOT NULL)`); err != nil {
		return err
	}
	if version > len(steps) {
		return fmt.Errorf("%w: version %d, this program knows up to %d", ErrNewerSchema, version, len(steps))
	}
	if version == len(steps) {
		return nil
	}
	for _, step := range steps[version:] {
		for _, statement := range step {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM directory_schema`); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO directory_schema (version) VALUES ($1)`, len(steps))
	return err
}
