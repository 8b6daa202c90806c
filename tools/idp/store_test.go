package idp

import (
	"context"
	"database/sql"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func openTest(t *testing.T, dir string) *store {
	t.Helper()
	s, err := openStore(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close() })
	return s
}

func accept(grant) error { return nil }

// The windows of codes and refresh tokens, on a clock of the test's own.
func TestLifetimes(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir())
	now := time.Unix(1_000_000, 0)
	g := grant{ClientID: "c", Scope: "openid offline_access"}
	begin := func() string {
		t.Helper()
		code, err := s.addCode(t.Context(), g, now)
		if err != nil {
			t.Fatal(err)
		}
		_, refresh, err := s.useCode(t.Context(), code, now.Add(codeLife-1), accept)
		if err != nil || refresh == "" {
			t.Fatal(refresh, err)
		}
		return refresh
	}
	use := func(token string, after time.Duration, want error) string {
		t.Helper()
		_, next, err := s.useRefresh(t.Context(), token, now.Add(after), accept)
		if !errors.Is(err, want) {
			t.Errorf("after %v: got %v, want %v", after, err, want)
		}
		return next
	}
	code, err := s.addCode(t.Context(), g, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.useCode(t.Context(), code, now.Add(codeLife), accept); !errors.Is(err, errNoSuchGrant) {
		t.Errorf("old code: %v", err)
	}

	first := begin()
	second := use(first, time.Hour, nil)
	twin := use(first, time.Hour+rotationGrace, nil)
	use(first, time.Hour+rotationGrace+1, errReused)
	for _, token := range []string{first, second, twin} {
		use(token, 2*time.Hour, errNoSuchGrant)
	}

	first = begin()
	use(first, refreshLife+time.Minute, errNoSuchGrant)
	second = use(first, refreshLife-time.Minute, nil)
	use(second, 2*refreshLife-2*time.Minute, nil) // a family lives as long as it is used
	if err := s.sweep(t.Context(), now.Add(10*refreshLife)); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"codes", "families", "refresh_tokens"} {
		var n int
		if err := s.db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d rows left in %s, %v", n, table, err)
		}
	}
}

// Of many who use one code at once, one gets tokens.
func TestCodeRace(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir())
	code, err := s.addCode(t.Context(), grant{Scope: "openid"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan error, 8)
	for range cap(results) {
		go func() {
			_, _, err := s.useCode(context.WithoutCancel(t.Context()), code, time.Now(), accept)
			results <- err
		}()
	}
	won := 0
	for range cap(results) {
		if err := <-results; err == nil {
			won++
		} else if !errors.Is(err, errReused) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d got tokens", won)
	}
}

// Secrets are kept as hashes only, and for the owner alone.
func TestSecretsAtRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := loadKey(dir); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, dir)
	code, err := s.addCode(t.Context(), grant{Scope: "offline_access"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, refresh, err := s.useCode(t.Context(), code, time.Now(), accept)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) < 2 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
		b, err := os.ReadFile(name)
		if err != nil || strings.Contains(string(b), code) || strings.Contains(string(b), refresh) {
			t.Errorf("%s holds a secret, %v", name, err)
		}
	}
}

func TestRefusedState(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file string
		spoil      func(path string) error
		want       string
	}{
		{"newer database", dbFile, func(path string) error { return exec(path, "PRAGMA user_version = 2") },
			"format version 2 is newer than 1"},
		{"garbage database", dbFile, func(path string) error { return os.WriteFile(path, []byte("garbage"), 0o600) },
			"not a database"},
		{"foreign database", dbFile, func(path string) error {
			return errors.Join(os.Remove(path), exec(path, "CREATE TABLE mine (x)"))
		}, "not this server's"},
		{"garbage key", keyFile, func(path string) error { return os.WriteFile(path, []byte("garbage"), 0o600) }, "damaged"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			open := func() error {
				_, err := loadKey(dir)
				if err != nil {
					return err
				}
				s, err := openStore(t.Context(), dir)
				if err != nil {
					return err
				}
				return s.close()
			}
			if err := open(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, tt.file)
			if err := tt.spoil(path); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := open(); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s and %q", err, path, tt.want)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("%s was changed, %v", path, err)
			}
		})
	}
}

// exec runs a statement on a database of its own connection.
func exec(path, statement string) error {
	db, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		return err
	}
	_, err = db.Exec(statement)
	return errors.Join(err, db.Close())
}

func TestClientsAreBounded(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir())
	_, err := s.db.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO clients SELECT 'c' || i, i, '{}' FROM n`, maxClients+5)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.addClient(t.Context(), &client{ID: "new"}); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := s.db.QueryRow(`SELECT count(*) FROM clients`).Scan(&n); err != nil || n != maxClients {
		t.Errorf("%d clients, %v", n, err)
	}
	if _, err := s.client(t.Context(), "c6"); !errors.Is(err, errUnknownClient) {
		t.Errorf("oldest: %v", err)
	}
	if _, err := s.client(t.Context(), "new"); err != nil {
		t.Errorf("newest: %v", err)
	}
}

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"93.184.215.14": true, "2606:2800:220:1::1": true, "127.0.0.1": false, "10.1.2.3": false, "192.168.0.1": false,
		"169.254.169.254": false, "0.0.0.0": false, "::1": false, "fd00::1": false, "fe80::1": false, "224.0.0.1": false,
	} {
		if got := isPublic(netip.MustParseAddr(address)); got != want {
			t.Errorf("isPublic(%s) = %v", address, got)
		}
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	t.Parallel()
	err := Serve(t.Context(), Options{PublicURL: "http://127.0.0.1/x", Audience: "mcp"})
	for _, want := range []string{"listener is missing", `public URL "http://127.0.0.1/x"`, `audience "mcp"`,
		"state directory"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
