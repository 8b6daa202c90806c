package idp

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3/driver"
)

const (
	dbFile        = "idp.db"
	schemaVersion = 1
	// applicationID is in the database's header, where SQLite has a place for it; pageBytes is its page's length.
	applicationID = 0x74644964
	pageBytes     = 4096
	dbTimeout     = 5 * time.Second
	sweepEvery    = 10 * time.Minute

	// maxClients bounds the registered clients; beyond it the oldest are forgotten.
	maxClients = 10_000

	codeLife    = 60 * time.Second
	refreshLife = 30 * 24 * time.Hour
	// rotationGrace is how long a refresh token that was used still gives new tokens, since a client that
	// missed the reply can only ask again with the old one.
	rotationGrace = 30 * time.Second
	// codeMemory is how long a used code is remembered, so that its second use ends what the first began.
	codeMemory = time.Hour
)

const schema = `
CREATE TABLE clients (
	id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, metadata TEXT NOT NULL
);
CREATE INDEX clients_by_age ON clients (created_at);
CREATE TABLE codes (
	hash BLOB PRIMARY KEY, expires_at INTEGER NOT NULL, family TEXT NOT NULL, used INTEGER NOT NULL,
	grant_json TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE families (
	id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL, revoked INTEGER NOT NULL, grant_json TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE refresh_tokens (
	hash BLOB PRIMARY KEY, family TEXT NOT NULL, expires_at INTEGER NOT NULL, rotated_at INTEGER
) WITHOUT ROWID;
CREATE INDEX refresh_tokens_by_family ON refresh_tokens (family);
`

// Reasons why a code or a refresh token gives nothing.
var (
	errUnknownClient = errors.New("idp: no such client")
	errNoSuchGrant   = errors.New("idp: unknown, expired or revoked")
	errReused        = errors.New("idp: used before; what it gave is revoked")
)

// errForeign refuses a database that somebody else made.
var errForeign = errors.New("a database, but not this server's")

// grant is what a user allowed a client: it stands behind a code, then behind a family of refresh tokens.
type grant struct {
	ClientID string `json:"client_id"`
	// RedirectURI is the one that the code went to; RedirectGiven says whether the request named it.
	RedirectURI   string `json:"redirect_uri"`
	RedirectGiven bool   `json:"redirect_given"`
	Challenge     string `json:"challenge"`
	Scope         string `json:"scope"`
	Nonce         string `json:"nonce,omitempty"`
	AccountID     string `json:"account_id"`
	OrgID         string `json:"org_id"`
	Email         string `json:"email"`
	AuthTime      int64  `json:"auth_time"`
}

// store keeps clients, codes and refresh tokens in SQLite. Codes and tokens are kept as hashes only.
type store struct{ db *sql.DB }

// openStore opens the database in dir, or makes it.
func openStore(ctx context.Context, dir string) (*store, error) {
	path, err := filepath.Abs(filepath.Join(dir, dbFile))
	if err != nil {
		return nil, fmt.Errorf("resolve state directory: %w", err)
	}
	fresh, err := inspectDB(path)
	if err != nil {
		return nil, fmt.Errorf("state database %s: %w", path, err)
	}
	db, err := driver.Open("file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(normal)")
	if err != nil {
		return nil, fmt.Errorf("open state database %s: %w", path, err)
	}
	// One connection: the statements are short, and each transaction sees what the last one did.
	db.SetMaxOpenConns(1)
	s := &store{db}
	if err := s.prepare(ctx, fresh); err != nil {
		return nil, errors.Join(fmt.Errorf("open state database %s: %w", path, err), db.Close())
	}
	return s, nil
}

// inspectDB reads the file's first bytes, so that one that is not ours or of a newer format is refused
// before SQLite opens it for writing. It makes the file, for its owner alone, when it is missing.
func inspectDB(path string) (fresh bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 100)
	n, err := io.ReadFull(f, head)
	if n == 0 && errors.Is(err, io.EOF) {
		return true, nil
	}
	if err != nil || !bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
		return false, errors.New("damaged, or not a database")
	}
	if binary.BigEndian.Uint32(head[68:]) == applicationID {
		return false, checkVersion(int64(binary.BigEndian.Uint32(head[60:])))
	}
	// A process that died in its first moments leaves one empty page, with the rest in the log beside it.
	if info, err := f.Stat(); err != nil || info.Size() > pageBytes {
		return false, errors.Join(errForeign, err)
	}
	return false, nil
}

func checkVersion(v int64) error {
	if v > schemaVersion {
		return fmt.Errorf("format version %d is newer than %d, the newest that this program knows", v, schemaVersion)
	}
	return nil
}

// prepare makes the tables where they are missing.
func (s *store) prepare(ctx context.Context, fresh bool) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		var version int64
		if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
			return fmt.Errorf("read format version: %w", err)
		}
		if version != 0 {
			return checkVersion(version)
		}
		if !fresh {
			// The file was made and the process died before it wrote the tables, or it is somebody else's.
			var tables int
			if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil || tables > 0 {
				return errors.Join(errForeign, err)
			}
		}
		_, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d;",
			schemaVersion, applicationID))
		return err
	})
}

func (s *store) close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close state database: %w", err)
	}
	return nil
}

// tx runs f in a transaction, within dbTimeout. What f did is kept when it returns nil.
func (s *store) tx(ctx context.Context, f func(tx *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, dbTimeout)
	defer cancel()
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// addClient keeps a registered client.
func (s *store) addClient(ctx context.Context, c *client) error {
	metadata, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode client: %w", err)
	}
	return s.tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO clients (id, created_at, metadata) VALUES (?, ?, ?)`,
			c.ID, time.Now().UnixNano(), string(metadata))
		if err != nil {
			return fmt.Errorf("keep client: %w", err)
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM clients WHERE created_at <
			(SELECT created_at FROM clients ORDER BY created_at DESC LIMIT 1 OFFSET ?)`, maxClients-1)
		return err
	})
}

// client returns a registered client. Errors: errUnknownClient.
func (s *store) client(ctx context.Context, id string) (*client, error) {
	ctx, cancel := context.WithTimeout(ctx, dbTimeout)
	defer cancel()
	var metadata string
	err := s.db.QueryRowContext(ctx, `SELECT metadata FROM clients WHERE id = ?`, id).Scan(&metadata)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errUnknownClient
	}
	if err != nil {
		return nil, fmt.Errorf("read client: %w", err)
	}
	c := &client{}
	if err := json.Unmarshal([]byte(metadata), c); err != nil {
		return nil, fmt.Errorf("read client: %w", err)
	}
	return c, nil
}

// sweepUntil forgets what has expired, now and then, until ctx ends.
func (s *store) sweepUntil(ctx context.Context, log *slog.Logger) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := s.sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
			log.Warn("forgetting expired tokens failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// sweep forgets what has expired at now.
func (s *store) sweep(ctx context.Context, now time.Time) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		for _, q := range []struct {
			text  string
			until time.Time
		}{
			{`DELETE FROM codes WHERE expires_at < ?`, now.Add(-codeMemory)},
			{`DELETE FROM refresh_tokens WHERE expires_at < ?`, now},
			{`DELETE FROM families WHERE expires_at < ?`, now},
		} {
			if _, err := tx.ExecContext(ctx, q.text, q.until.UnixNano()); err != nil {
				return err
			}
		}
		return nil
	})
}

// newSecret returns 32 random bytes as text, for a code, a token or a session.
func newSecret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(b)
}

func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
