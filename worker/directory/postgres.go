package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// postgresConns bounds the connections of one process; the cache in front keeps the need low.
	postgresConns = 8
	// postgresConnLifetime lets a process follow a server that moves.
	postgresConnLifetime = 30 * time.Minute
	// migrationLock is the advisory lock that migrations hold: any number, the same in every version.
	migrationLock = 7266_1989
)

// openPostgres opens the database at dsn. pgx leaves the password out of its errors.
func openPostgres(ctx context.Context, dsn string) (Directory, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if cfg.ConnectTimeout == 0 || cfg.ConnectTimeout > queryTimeout {
		cfg.ConnectTimeout = queryTimeout
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "tandem-directory"
	}
	db := stdlib.OpenDB(*cfg)
	db.SetMaxOpenConns(postgresConns)
	db.SetMaxIdleConns(postgresConns)
	db.SetConnMaxLifetime(postgresConnLifetime)
	if err := migratePostgres(ctx, db); err != nil {
		db.Close()
		if errors.Is(err, ErrNewerSchema) {
			return nil, fmt.Errorf("open directory %s/%s: %w", cfg.Host, cfg.Database, err)
		}
		return nil, unavailable("open postgres", err)
	}
	return &store{db}, nil
}

// migratePostgres runs migrate under a lock, so that processes which start together migrate one after the other.
func migratePostgres(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, migrationLock); err != nil {
		return err
	}
	var has bool
	if err := tx.QueryRowContext(ctx, `SELECT to_regclass('directory_schema') IS NOT NULL`).Scan(&has); err != nil {
		return err
	}
	if err := migrate(ctx, tx, has); err != nil {
		return err
	}
	return tx.Commit()
}
