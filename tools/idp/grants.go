package idp

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// addCode keeps g behind a new code, which is good for codeLife and once.
func (s *store) addCode(ctx context.Context, g grant, now time.Time) (code string, err error) {
	text, err := json.Marshal(g)
	if err != nil {
		return "", fmt.Errorf("encode grant: %w", err)
	}
	code = newSecret()
	ctx, cancel := context.WithTimeout(ctx, dbTimeout)
	defer cancel()
	_, err = s.db.ExecContext(ctx,
		`INSERT INTO codes (hash, expires_at, family, used, grant_json) VALUES (?, ?, ?, 0, ?)`,
		hash(code), now.Add(codeLife).UnixNano(), rand.Text(), string(text))
	if err != nil {
		return "", fmt.Errorf("keep code: %w", err)
	}
	return code, nil
}

// useCode takes a code and returns what it stands for. check is asked before the code counts as used, and
// its error is returned. With offline set in the grant's scope a refresh token comes with it.
// Errors: errNoSuchGrant; errReused, which also revokes the tokens that the first use gave.
func (s *store) useCode(
	ctx context.Context, code string, now time.Time, check func(grant) error,
) (g grant, refresh string, err error) {
	var reused bool
	err = s.tx(ctx, func(tx *sql.Tx) error {
		var expires int64
		var family, text string
		err := tx.QueryRowContext(ctx, `SELECT expires_at, family, used, grant_json FROM codes WHERE hash = ?`,
			hash(code)).Scan(&expires, &family, &reused, &text)
		if errors.Is(err, sql.ErrNoRows) {
			return errNoSuchGrant
		}
		if err != nil {
			return fmt.Errorf("read code: %w", err)
		}
		if reused {
			return revoke(ctx, tx, family)
		}
		if expires <= now.UnixNano() {
			return errNoSuchGrant
		}
		if err := json.Unmarshal([]byte(text), &g); err != nil {
			return fmt.Errorf("read grant: %w", err)
		}
		if err := check(g); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE codes SET used = 1 WHERE hash = ?`, hash(code)); err != nil {
			return fmt.Errorf("use code: %w", err)
		}
		if !hasScope(g.Scope, scopeOffline) {
			return nil
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO families (id, expires_at, revoked, grant_json) VALUES (?, ?, 0, ?)`,
			family, now.Add(refreshLife).UnixNano(), text); err != nil {
			return fmt.Errorf("begin family: %w", err)
		}
		refresh, err = addRefresh(ctx, tx, family, now)
		return err
	})
	if err == nil && reused {
		err = errReused
	}
	return g, refresh, err
}

// useRefresh takes a refresh token and returns what it stands for and the next token. A token that was used
// within rotationGrace gives another one; used later it revokes its family. check is asked first, and its
// error is returned. Errors: errNoSuchGrant, errReused.
func (s *store) useRefresh(
	ctx context.Context, token string, now time.Time, check func(grant) error,
) (g grant, next string, err error) {
	var reused bool
	err = s.tx(ctx, func(tx *sql.Tx) error {
		var family, text string
		var rotated sql.NullInt64
		err := tx.QueryRowContext(ctx, `SELECT f.id, f.grant_json, t.rotated_at FROM refresh_tokens t
			JOIN families f ON f.id = t.family
			WHERE t.hash = ? AND t.expires_at > ? AND f.expires_at > ? AND f.revoked = 0`,
			hash(token), now.UnixNano(), now.UnixNano()).Scan(&family, &text, &rotated)
		if errors.Is(err, sql.ErrNoRows) {
			return errNoSuchGrant
		}
		if err != nil {
			return fmt.Errorf("read refresh token: %w", err)
		}
		if err := json.Unmarshal([]byte(text), &g); err != nil {
			return fmt.Errorf("read grant: %w", err)
		}
		if err := check(g); err != nil {
			return err
		}
		if rotated.Valid && now.UnixNano()-rotated.Int64 > int64(rotationGrace) {
			reused = true
			return revoke(ctx, tx, family)
		}
		if !rotated.Valid {
			if _, err := tx.ExecContext(ctx, `UPDATE refresh_tokens SET rotated_at = ? WHERE hash = ?`,
				now.UnixNano(), hash(token)); err != nil {
				return fmt.Errorf("rotate refresh token: %w", err)
			}
		}
		next, err = addRefresh(ctx, tx, family, now)
		return err
	})
	if err == nil && reused {
		err = errReused
	}
	return g, next, err
}

// addRefresh adds a token to a family, which lives as long as its newest token.
func addRefresh(ctx context.Context, tx *sql.Tx, family string, now time.Time) (string, error) {
	token := newSecret()
	expires := now.Add(refreshLife).UnixNano()
	if _, err := tx.ExecContext(ctx, `INSERT INTO refresh_tokens (hash, family, expires_at) VALUES (?, ?, ?)`,
		hash(token), family, expires); err != nil {
		return "", fmt.Errorf("keep refresh token: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `UPDATE families SET expires_at = ? WHERE id = ?`, expires, family); err != nil {
		return "", fmt.Errorf("extend family: %w", err)
	}
	return token, nil
}

// revoke ends a family: none of its refresh tokens gives anything any more. Its access tokens run out.
func revoke(ctx context.Context, tx *sql.Tx, family string) error {
	if _, err := tx.ExecContext(ctx, `UPDATE families SET revoked = 1 WHERE id = ?`, family); err != nil {
		return fmt.Errorf("revoke family: %w", err)
	}
	return nil
}

// hasScope reports whether name is one of the space-separated scopes.
func hasScope(scopes, name string) bool {
	for s := range strings.FieldsSeq(scopes) {
		if s == name {
			return true
		}
	}
	return false
}
