package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
)

// sqliteConns bounds the connections of one process to the file: readers run beside each other, writers queue.
const sqliteConns = 4

// openSQLite opens the file at path, which is made if it is not there.
func openSQLite(ctx context.Context, path string) (Directory, error) {
	if path == "" || path == ":memory:" {
		return nil, fmt.Errorf("%w: sqlite: needs the path of a file", ErrInvalid)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolve directory path: %w", err)
	}
	// Made here so that only the owner may read it: it holds e-mail addresses.
	f, err := os.OpenFile(abs, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open directory: %w", err)
	}
	f.Close()
	// The files beside it get the mode of this one. SQLite knows no plus signs for spaces.
	uri := "file:" + (&url.URL{Path: abs}).EscapedPath() +
		"?modeof=" + strings.ReplaceAll(url.QueryEscape(abs), "+", "%20") +
		"&_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)"
	db, err := driver.Open(uri)
	if err != nil {
		return nil, fmt.Errorf("open directory %s: %w", abs, err)
	}
	db.SetMaxOpenConns(sqliteConns)
	db.SetMaxIdleConns(sqliteConns)
	if err := prepareSQLite(ctx, db); err != nil {
		db.Close()
		if errors.Is(err, ErrNewerSchema) {
			return nil, fmt.Errorf("open directory %s: %w", abs, err)
		}
		return nil, unavailable("open "+abs, err)
	}
	return &store{db}, nil
}

// prepareSQLite migrates the schema and turns the write-ahead log on. Both are tried again while another process
// holds the file, since SQLite's own busy timeout does not cover the change of the journal mode.
func prepareSQLite(ctx context.Context, db *sql.DB) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = 5 * time.Millisecond
	wait.MaxInterval = 100 * time.Millisecond
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := migrateSQLite(ctx, db)
		if err == nil {
			_, err = db.ExecContext(ctx, `PRAGMA journal_mode = wal`)
		}
		if err != nil && !errors.Is(err, sqlite3.BUSY) && !errors.Is(err, sqlite3.LOCKED) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(openTimeout))
	return err
}

// migrateSQLite runs migrate as the file's only writer: its transactions begin as immediate ones.
func migrateSQLite(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	var has bool
	err = tx.QueryRowContext(ctx,
		`SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'directory_schema')`).Scan(&has)
	if err != nil {
		return err
	}
	if err := migrate(ctx, tx, has); err != nil {
		return err
	}
	return tx.Commit()
}
