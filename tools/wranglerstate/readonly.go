package wranglerstate

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// readOnlyName is the name of readOnlyFiles among SQLite's file layers.
const readOnlyName = "tandem-readonly"

// readOnlyFiles is a file layer for SQLite that opens databases and their write-ahead logs for reading and can do
// nothing else. It takes no locks, so a connection must use locking_mode=exclusive, which keeps the index of the log
// in memory instead of in a -shm file, and must check by a stamp that nothing has changed meanwhile.
type readOnlyFiles struct{}

// Open opens a database or a log. A log that is not there is an empty one: SQLite would create it.
func (readOnlyFiles) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	kind := flags & (vfs.OPEN_MAIN_DB | vfs.OPEN_WAL)
	if name == "" || kind == 0 {
		return nil, flags, sqlite3.CANTOPEN
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && kind == vfs.OPEN_WAL {
		return readOnlyFile{}, kind | vfs.OPEN_READONLY, nil
	}
	if err != nil {
		return nil, flags, err
	}
	return readOnlyFile{f}, kind | vfs.OPEN_READONLY, nil
}

// Delete refuses.
func (readOnlyFiles) Delete(string, bool) error { return sqlite3.IOERR_DELETE }

// Access reports whether a file is there to be read.
func (readOnlyFiles) Access(name string, flags vfs.AccessFlag) (bool, error) {
	if flags == vfs.ACCESS_READWRITE {
		return false, nil
	}
	_, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// FullPathname returns the absolute path.
func (readOnlyFiles) FullPathname(name string) (string, error) { return filepath.Abs(name) }

// readOnlyFile is an open file, or an empty one when file is nil.
type readOnlyFile struct{ file *os.File }

// Close closes the file.
func (f readOnlyFile) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// ReadAt reads.
func (f readOnlyFile) ReadAt(p []byte, off int64) (int, error) {
	if f.file == nil {
		return 0, io.EOF
	}
	return f.file.ReadAt(p, off)
}

// Size returns the size in bytes.
func (f readOnlyFile) Size() (int64, error) {
	if f.file == nil {
		return 0, nil
	}
	info, err := f.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// WriteAt refuses.
func (readOnlyFile) WriteAt([]byte, int64) (int, error) { return 0, sqlite3.IOERR_WRITE }

// Truncate refuses.
func (readOnlyFile) Truncate(int64) error { return sqlite3.IOERR_TRUNCATE }

// Sync refuses.
func (readOnlyFile) Sync(vfs.SyncFlag) error { return sqlite3.IOERR_FSYNC }

// Lock does nothing.
func (readOnlyFile) Lock(vfs.LockLevel) error { return nil }

// Unlock does nothing.
func (readOnlyFile) Unlock(vfs.LockLevel) error { return nil }

// CheckReservedLock says that there is none.
func (readOnlyFile) CheckReservedLock() (bool, error) { return false, nil }

// SectorSize leaves it to SQLite.
func (readOnlyFile) SectorSize() int { return 0 }

// DeviceCharacteristics promises nothing. An immutable device would have SQLite ignore the log.
func (readOnlyFile) DeviceCharacteristics() vfs.DeviceCharacteristic { return 0 }
