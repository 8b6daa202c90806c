package wranglerstate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// alarmsFile is the database in each namespace's folder from which workerd's scheduler knows the alarms.
const alarmsFile = "metadata.sqlite"

// alarmIndex is that database, or nil when there is none. An object's own database has precedence over it: the two are
// not written in one transaction.
type alarmIndex struct {
	*database
	// named says that the table has a column for the object's name. Like workerd: since 2026 it has three columns.
	named bool
}

// scheduled is a row of an alarmIndex.
type scheduled struct {
	id   string
	at   time.Time
	name *string
}

// openAlarms returns nil when there is no such file, or no table in it.
func openAlarms(ctx context.Context, folder string) (*alarmIndex, error) {
	path := filepath.Join(folder, alarmsFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	d, err := openDatabase(ctx, path)
	if err != nil {
		return nil, err
	}
	x := &alarmIndex{database: d}
	has, err := d.hasColumn("_cf_ALARM", "actor_id")
	if err == nil && has {
		x.named, err = d.hasColumn("_cf_ALARM", "actor_name")
	}
	if err != nil || !has {
		return nil, errors.Join(err, d.close())
	}
	return x, nil
}

// of returns the row of an object.
func (x *alarmIndex) of(id string) (row scheduled, ok bool, err error) {
	err = x.rows(`WHERE actor_id = ?`, func(r scheduled) error {
		row, ok = r, true
		return nil
	}, id)
	return row, ok, err
}

// each calls f with every row that has a time, in the order of the IDs.
func (x *alarmIndex) each(f func(scheduled) error) error {
	return x.rows(`WHERE scheduled_time IS NOT NULL ORDER BY actor_id`, f)
}

func (x *alarmIndex) rows(where string, f func(scheduled) error, args ...string) error {
	if x == nil {
		return nil
	}
	columns := "actor_id, scheduled_time, NULL"
	if x.named {
		columns = "actor_id, scheduled_time, actor_name"
	}
	return x.query("SELECT "+columns+" FROM _cf_ALARM "+where, func(row *sqlite3.Stmt) error {
		r := scheduled{id: row.ColumnText(0), at: alarmTime(row, 1)}
		if row.ColumnType(2) == sqlite3.TEXT {
			r.name = new(row.ColumnText(2))
		}
		return f(r)
	}, args...)
}

func (x *alarmIndex) close() error {
	if x == nil {
		return nil
	}
	return x.database.close()
}
