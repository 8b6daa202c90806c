package directory

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// backend is a database that the conformance tests run on. dsn returns a new, empty database.
type backend struct {
	name string
	dsn  func(t *testing.T) string
}

func sqliteDSN(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "dir ?#%.db") }

func open(t *testing.T, dsn string) Directory {
	t.Helper()
	d, err := Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, b := range []backend{{"sqlite", sqliteDSN}, {"postgres", postgresDSN}} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			t.Run("create and find", func(t *testing.T) { testCreateAndFind(t, b.dsn(t)) })
			t.Run("membership", func(t *testing.T) { testMembership(t, b.dsn(t)) })
			t.Run("invalid", func(t *testing.T) { testInvalid(t, b.dsn(t)) })
			t.Run("racing creators", func(t *testing.T) { testRacingCreators(t, b.dsn(t)) })
			t.Run("reopen", func(t *testing.T) { testReopen(t, b.dsn(t)) })
			t.Run("racing openers", func(t *testing.T) { testRacingOpeners(t, b.dsn(t)) })
			t.Run("newer schema", func(t *testing.T) { testNewerSchema(t, b.dsn(t)) })
			t.Run("closed is unavailable", func(t *testing.T) { testClosed(t, b.dsn(t)) })
		})
	}
}

func testCreateAndFind(t *testing.T, dsn string) {
	d := open(t, dsn)
	if _, err := d.FindUserByEmail(t.Context(), "ada@example.test"); !errors.Is(err, ErrUserNotFound) {
		t.Fatalf("find before create: got %v, want ErrUserNotFound", err)
	}
	made, err := d.CreateUserWithOrganization(t.Context(), NewUser{Email: " Ada@Example.test "})
	if err != nil {
		t.Fatal(err)
	}
	if made.Email != "ada@example.test" || made.OrganizationName != "ada's organization" ||
		!strings.HasPrefix(made.AccountID, "user_") || !strings.HasPrefix(made.OrganizationID, "org_") {
		t.Errorf("created %+v", made)
	}
	found, err := d.FindUserByEmail(t.Context(), "ADA@example.test")
	if err != nil || found != made {
		t.Errorf("found %+v, %v; want %+v", found, err, made)
	}
	again, err := d.CreateUserWithOrganization(t.Context(), NewUser{Email: "ada@example.test", OrganizationName: "other"})
	if err != nil || again != made {
		t.Errorf("created again %+v, %v; want the first user %+v", again, err, made)
	}
	named, err := d.CreateUserWithOrganization(t.Context(), NewUser{Email: "b@example.test", OrganizationName: " Ünit "})
	if err != nil || named.OrganizationName != "Ünit" {
		t.Errorf("named organization: got %+v, %v", named, err)
	}
}

func testMembership(t *testing.T, dsn string) {
	d := open(t, dsn)
	a, err := d.CreateUserWithOrganization(t.Context(), NewUser{Email: "a@example.test"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.CreateUserWithOrganization(t.Context(), NewUser{Email: "b@example.test"})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := d.Organization(t.Context(), a.AccountID, a.OrganizationID); err != nil || m != a {
		t.Errorf("own organization: got %+v, %v; want %+v", m, err, a)
	}
	for _, pair := range [][2]string{
		{a.AccountID, b.OrganizationID}, {a.AccountID, "org_none"}, {"user_none", a.OrganizationID}, {"", ""},
		{a.AccountID, "' OR 1=1 --"},
	} {
		if m, err := d.Organization(t.Context(), pair[0], pair[1]); !errors.Is(err, ErrNotMember) {
			t.Errorf("Organization(%q): got %+v, %v; want ErrNotMember", pair, m, err)
		}
	}
}

func testInvalid(t *testing.T, dsn string) {
	d := open(t, dsn)
	for _, n := range []NewUser{
		{Email: ""}, {Email: "nobody"}, {Email: "@x"}, {Email: "x@"}, {Email: "a@b@c"}, {Email: "a b@c"},
		{Email: "a\x00@c"}, {Email: "a@c\xff"}, {Email: strings.Repeat("a", MaxEmailBytes) + "@c"},
		{Email: "ok@example.test", OrganizationName: strings.Repeat("n", MaxNameBytes+1)},
		{Email: "ok@example.test", OrganizationName: "a\x00b"},
	} {
		if u, err := d.CreateUserWithOrganization(t.Context(), n); !errors.Is(err, ErrInvalid) {
			t.Errorf("create %q: got %+v, %v; want ErrInvalid", n, u, err)
		}
	}
	if _, err := d.FindUserByEmail(t.Context(), "nobody"); !errors.Is(err, ErrInvalid) {
		t.Errorf("find: got %v, want ErrInvalid", err)
	}
	long := NewUser{Email: strings.Repeat("é", 100) + "@c"}
	if u, err := d.CreateUserWithOrganization(t.Context(), long); err != nil || len(u.OrganizationName) > MaxNameBytes {
		t.Errorf("a long local part: got %+v, %v", u, err)
	}
}

// Two handles stand for the two processes that share the database.
func testRacingCreators(t *testing.T, dsn string) {
	handles := []Directory{open(t, dsn), open(t, dsn)}
	const racers = 12
	users := make([]User, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			u, err := handles[i%2].CreateUserWithOrganization(t.Context(), NewUser{Email: "race@example.test"})
			if err != nil {
				t.Error(err)
			}
			users[i] = u
		})
	}
	wg.Wait()
	for _, u := range users {
		if u != users[0] {
			t.Errorf("got %+v and %+v, want one user", u, users[0])
		}
	}
}

func testReopen(t *testing.T, dsn string) {
	first := open(t, dsn)
	made, err := first.CreateUserWithOrganization(t.Context(), NewUser{Email: "a@example.test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if u, err := open(t, dsn).FindUserByEmail(t.Context(), "a@example.test"); err != nil || u != made {
		t.Errorf("after reopening: got %+v, %v; want %+v", u, err, made)
	}
}

func testRacingOpeners(t *testing.T, dsn string) {
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			d, err := Open(t.Context(), dsn)
			if err != nil {
				t.Error(err)
				return
			}
			defer d.Close()
			if _, err := d.CreateUserWithOrganization(t.Context(), NewUser{Email: "a@example.test"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func testNewerSchema(t *testing.T, dsn string) {
	d := open(t, dsn)
	if _, err := d.(*store).db.ExecContext(t.Context(), `UPDATE directory_schema SET version = 99`); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), dsn)
	if !errors.Is(err, ErrNewerSchema) || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("got %v, want ErrNewerSchema that names version 99", err)
	}
	var version int
	err = d.(*store).db.QueryRowContext(t.Context(), `SELECT version FROM directory_schema`).Scan(&version)
	if err != nil || version != 99 {
		t.Errorf("version after refusal: got %d, %v; want 99 untouched", version, err)
	}
}

func testClosed(t *testing.T, dsn string) {
	d := open(t, dsn)
	d.Close()
	if _, err := d.Organization(t.Context(), "a", "b"); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNotMember) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	corrupt := filepath.Join(t.TempDir(), "corrupt.db")
	content := strings.Repeat("this is not a database ", 500)
	if err := os.WriteFile(corrupt, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, dsn string
		want      error
		text      string
	}{
		{"empty", "", ErrInvalid, "sqlite:PATH"},
		{"other database", "mysql://x", ErrInvalid, "sqlite:PATH"},
		{"no path", "sqlite:", ErrInvalid, "path"},
		{"in memory", "sqlite::memory:", ErrInvalid, "path"},
		{"missing directory", "sqlite:/nonexistent/dir/x.db", os.ErrNotExist, "/nonexistent/dir/x.db"},
		{"corrupt file", "sqlite:" + corrupt, ErrUnavailable, corrupt},
		{"bad postgres dsn", "postgres://u:sesame@h:port/x", ErrInvalid, ""},
		{"unreachable postgres", "postgres://u:sesame@127.0.0.1:1/x", ErrUnavailable, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Open(t.Context(), tc.dsn)
			if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v, want %v with %q", err, tc.want, tc.text)
			}
			if err != nil && strings.Contains(err.Error(), "sesame") {
				t.Errorf("the error holds the password: %v", err)
			}
		})
	}
	if b, _ := os.ReadFile(corrupt); string(b) != content {
		t.Error("the corrupt file was changed")
	}
}

func TestSQLiteFileIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a d+e%20f.db")
	if _, err := open(t, "sqlite:"+path).Organization(t.Context(), "a", "b"); !errors.Is(err, ErrNotMember) {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal"} { // the index of the latter holds no data
		st, err := os.Stat(name)
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: got mode %v, %v; want 0600", name, st, err)
		}
	}
}

func TestCanceledIsUnavailable(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	d := open(t, sqliteDSN(t))
	cancel()
	if _, err := d.Organization(ctx, "a", "b"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
}
