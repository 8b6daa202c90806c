package wranglerstate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/v8value"
)

// Tables of an object's database that are not the object's own.
const (
	tableValues    = "_cf_KV"
	tableMetadata  = "_cf_METADATA"
	tableExternals = "_cf_EXTERNALS"
	tableName      = "__miniflare_do_name"

	// metadataAlarm is the key in tableMetadata of the alarm, in nanoseconds since 1970.
	metadataAlarm = "1"
)

// objectFile is one object's database.
type objectFile struct {
	*database
	has map[string]bool
}

// contents are what an object's database holds, without the values themselves.
type contents struct {
	keys  int
	bytes int64
	// bad are entries that can't come over, at most maxBad of badCount.
	bad      []badEntry
	badCount int
	// alarm is nil when the database does not know of alarms. It is zero when there is none.
	alarm *time.Time
	// noted is the name that the source knows, or nil.
	noted *string
	// tables are those of the object's own SQL.
	tables []table
}

type badEntry struct {
	key    string
	reason error
}

// table is a table of SQL. rows is -1 when they can't be counted.
type table struct {
	name string
	rows int64
}

// maxBad bounds the entries that are named for one object.
const maxBad = 10

func openObject(ctx context.Context, path string) (*objectFile, error) {
	d, err := openDatabase(ctx, path)
	if err != nil {
		return nil, err
	}
	names, err := d.tables()
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	f := &objectFile{database: d, has: map[string]bool{}}
	for _, name := range names {
		f.has[name] = true
	}
	return f, nil
}

// each calls f with every key and value, in the order of the keys' bytes. The value is valid only during the call.
func (f *objectFile) each(visit func(key string, value []byte) error) error {
	if !f.has[tableValues] {
		return nil
	}
	last, first := "", true
	return f.query(`SELECT key, value FROM _cf_KV ORDER BY key`, func(row *sqlite3.Stmt) error {
		key := string(row.ColumnRawText(0))
		if !first && key <= last { // SQLite's quick check does not look at this
			return fmt.Errorf("%w: key %.64q is not after the one before it", sqlite3.CORRUPT, key)
		}
		last, first = key, false
		return visit(key, row.ColumnRawBlob(1))
	})
}

// read goes through all of the database.
func (f *objectFile) read() (c contents, err error) {
	err = f.each(func(key string, value []byte) error {
		if reason := importable(key, value); reason != nil {
			if c.badCount++; len(c.bad) < maxBad {
				c.bad = append(c.bad, badEntry{key, reason})
			}
			return nil
		}
		c.keys++
		c.bytes += int64(len(key) + len(value))
		return nil
	})
	if err == nil {
		c.alarm, err = f.alarm()
	}
	if err == nil {
		c.noted, err = f.name()
	}
	if err == nil {
		c.tables, err = f.sqlTables()
	}
	return c, err
}

// Limits of what is imported: the greatest that a store can have.
const (
	maxKeyBytes   = 65535
	maxValueBytes = 64 << 20
)

// importable returns why an entry can't come over, or nil.
func importable(key string, value []byte) error {
	if len(key) > maxKeyBytes {
		return fmt.Errorf("its key has %d bytes, at most %d", len(key), maxKeyBytes)
	}
	if len(value) > maxValueBytes {
		return fmt.Errorf("it has %d bytes, at most %d", len(value), maxValueBytes)
	}
	_, err := v8value.Decode(value)
	return err
}

// alarm returns nil when the database does not say, and a zero time when it says that there is none.
func (f *objectFile) alarm() (at *time.Time, err error) {
	if !f.has[tableMetadata] {
		return nil, nil
	}
	err = f.query(`SELECT value FROM _cf_METADATA WHERE key = `+metadataAlarm, func(row *sqlite3.Stmt) error {
		at = new(alarmTime(row, 0))
		return nil
	})
	return at, err
}

// alarmTime returns a column of nanoseconds since 1970, or a zero time for NULL.
func alarmTime(row *sqlite3.Stmt, column int) time.Time {
	if row.ColumnType(column) == sqlite3.NULL {
		return time.Time{}
	}
	return time.Unix(0, row.ColumnInt64(column))
}

// name returns the name that miniflare has noted, or nil.
func (f *objectFile) name() (name *string, err error) {
	if !f.has[tableName] {
		return nil, nil
	}
	err = f.query(`SELECT name FROM __miniflare_do_name LIMIT 1`, func(row *sqlite3.Stmt) error {
		if row.ColumnType(0) == sqlite3.TEXT {
			name = new(row.ColumnText(0))
		}
		return nil
	})
	return name, err
}

// sqlTables returns the tables of the object's own SQL, and that of persistent stubs if it has any.
func (f *objectFile) sqlTables() (tables []table, err error) {
	for name := range f.has {
		ours := strings.HasPrefix(name, "_cf_") || strings.HasPrefix(name, "sqlite_") || name == tableName
		if ours && name != tableExternals {
			continue
		}
		t := table{name: name, rows: -1}
		err := f.query(`SELECT count(*) FROM `+sqlite3.QuoteIdentifier(name), func(row *sqlite3.Stmt) error {
			t.rows = row.ColumnInt64(0)
			return nil
		})
		if corrupt(err) || errors.Is(err, sqlite3.INTERRUPT) {
			return nil, err
		}
		if name == tableExternals && t.rows == 0 {
			continue
		}
		tables = append(tables, t)
	}
	slices.SortFunc(tables, func(a, b table) int { return strings.Compare(a.name, b.name) })
	return tables, nil
}

// copyTo hands every importable entry to put.
func (f *objectFile) copyTo(put func(storage.Entry) error) error {
	return f.each(func(key string, value []byte) error {
		if importable(key, value) != nil {
			return nil
		}
		return put(storage.Entry{Key: key, Value: value})
	})
}
