package wranglerstate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

var (
	// errChanged says that a file of the source was written while it was read.
	errChanged = errors.New("it changed while it was read: stop what writes it, and run this again")
	// errJournal says that a transaction must be rolled back first, which means writing.
	errJournal = errors.New("a transaction in its -journal file has to be rolled back first: open it once with what wrote it")
)

// database is an open SQLite database of the source, within one read transaction.
type database struct {
	conn   *sqlite3.Conn
	path   string
	stamps [2]stamp
}

// stamp tells a file from the same file after a write.
type stamp struct {
	size int64
	mod  time.Time
}

// openDatabase opens a database for reading and checks all of it. ctx interrupts every later read.
func openDatabase(ctx context.Context, path string) (*database, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	d := &database{path: path}
	if d.stamps, err = d.stampNow(); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path + "-journal"); err == nil && info.Size() > 0 {
		return nil, errJournal
	}
	vfs.Register(readOnlyName, readOnlyFiles{}) // again and again, to the same effect
	d.conn, err = sqlite3.OpenFlags((&url.URL{
		Scheme: "file", OmitHost: true, Path: path, RawQuery: "vfs=" + readOnlyName,
	}).String(), sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		return nil, err
	}
	d.conn.SetInterrupt(ctx)
	if err := d.begin(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// begin starts the read transaction.
func (d *database) begin() error {
	err := d.conn.Exec(`PRAGMA locking_mode = exclusive; PRAGMA temp_store = memory; PRAGMA trusted_schema = 0;
		PRAGMA cell_size_check = 1; PRAGMA ignore_check_constraints = 1; BEGIN`)
	if err != nil {
		return err
	}
	var found string
	err = d.query(`PRAGMA quick_check(1)`, func(row *sqlite3.Stmt) error {
		found = row.ColumnText(0)
		return nil
	})
	if err == nil && found != "ok" {
		err = fmt.Errorf("%w: %s", sqlite3.CORRUPT, found)
	}
	return err
}

func (d *database) close() error { return d.conn.Close() }

// unchanged returns errChanged when the files are not those that were opened.
func (d *database) unchanged() error {
	stamps, err := d.stampNow()
	if err == nil && stamps != d.stamps {
		err = errChanged
	}
	return err
}

// stampNow stamps the database and its log.
func (d *database) stampNow() (stamps [2]stamp, err error) {
	for i, name := range []string{d.path, d.path + "-wal"} {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			continue
		}
		if err != nil {
			return stamps, err
		}
		if !info.Mode().IsRegular() {
			return stamps, fmt.Errorf("%s is not a regular file", name)
		}
		stamps[i] = stamp{info.Size(), info.ModTime()}
	}
	return stamps, nil
}

// query calls f with each row. What the columns return is valid only during the call.
func (d *database) query(query string, f func(row *sqlite3.Stmt) error, args ...string) (err error) {
	stmt, _, err := d.conn.Prepare(query)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := stmt.Close(); err == nil {
			err = cerr
		}
	}()
	for i, arg := range args {
		if err := stmt.BindText(i+1, arg); err != nil {
			return err
		}
	}
	for stmt.Step() {
		if err := f(stmt); err != nil {
			return err
		}
	}
	return stmt.Err()
}

// tables returns the names of the tables.
func (d *database) tables() (names []string, err error) {
	err = d.query(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`, func(row *sqlite3.Stmt) error {
		names = append(names, row.ColumnText(0))
		return nil
	})
	return names, err
}

// hasColumn reports whether a table has a column.
func (d *database) hasColumn(table, column string) (has bool, err error) {
	err = d.query(`SELECT 1 FROM pragma_table_info(?) WHERE name = ?`, func(*sqlite3.Stmt) error {
		has = true
		return nil
	}, table, column)
	return has, err
}

// ofSource reports whether an error is of reading a database.
func ofSource(err error) bool {
	var code sqlite3.ErrorCode
	return errors.As(err, &code)
}

// corrupt reports whether an error says that a database is damaged, and not that it could not be read.
func corrupt(err error) bool {
	return errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.NOTADB)
}
