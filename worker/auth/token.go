package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// maxTokenBytes bounds a token; those of providers have 1 to 4 KiB.
	maxTokenBytes = 16 << 10
	// maxClaimBytes bounds the claims that travel on as props.
	maxClaimBytes = 256
	// leeway is how far the issuer's clock may be off.
	leeway = 5 * time.Second
	// verifiedTTL is how long a verified token is believed without looking again.
	verifiedTTL = time.Minute
	// verifiedTokens bounds how many are remembered; one is about 200 bytes.
	verifiedTokens = 4096
)

// invalidToken is the error for a token that is not good here.
type invalidToken struct {
	description string // for the client; never a part of the token
}

func (e *invalidToken) Error() string { return "invalid token: " + e.description }

// account is what a good token says.
type account struct {
	accountID      string
	organizationID string // empty when the token names none
}

// claims are the parts of a token that count.
type claims struct {
	jwt.RegisteredClaims
	OrganizationID string `json:"org_id"`
}

// keySource finds the issuer's keys. Errors: errUnknownKey, and others when the keys cannot be had.
type keySource interface {
	key(ctx context.Context, kid string) (any, error)
}

// verifier verifies tokens of one issuer.
type verifier struct {
	parser   *jwt.Parser
	keys     keySource
	verified *lru.Cache[[sha256.Size]byte, verifiedToken]
}

type verifiedToken struct {
	account account
	until   time.Time
}

func newVerifier(issuer string, audiences []string, keys keySource) *verifier {
	verified, err := lru.New[[sha256.Size]byte, verifiedToken](verifiedTokens)
	if err != nil {
		panic("auth: cache of a fixed size: " + err.Error())
	}
	return &verifier{
		parser:   newParser(issuer, audiences...),
		keys:     keys,
		verified: verified,
	}
}

// newParser returns what accepts the issuer's tokens for one of the audiences.
func newParser(issuer string, audiences ...string) *jwt.Parser {
	return jwt.NewParser(jwt.WithValidMethods([]string{"RS256", "ES256"}), jwt.WithIssuer(issuer),
		jwt.WithAudience(audiences...), jwt.WithExpirationRequired(), jwt.WithLeeway(leeway))
}

// verify returns what a good token says. Errors: *invalidToken; every other one means that it cannot be told.
func (v *verifier) verify(ctx context.Context, token string) (account, error) {
	if len(token) > maxTokenBytes {
		return account{}, &invalidToken{"the token is too long"}
	}
	hash := sha256.Sum256([]byte(token))
	if known, ok := v.verified.Get(hash); ok && time.Now().Before(known.until) {
		return known.account, nil
	}
	var c claims
	if err := v.parse(ctx, v.parser, token, &c); err != nil {
		return account{}, err
	}
	who := account{c.Subject, c.OrganizationID}
	if !who.usable() {
		return account{}, &invalidToken{"the token has no usable subject or organization"}
	}
	until := time.Now().Add(verifiedTTL)
	if c.ExpiresAt.Before(until) {
		until = c.ExpiresAt.Time
	}
	v.verified.Add(hash, verifiedToken{who, until})
	return who, nil
}

// usable reports whether an account can travel as props.
func (a account) usable() bool {
	return a.accountID != "" && len(a.accountID) <= maxClaimBytes && len(a.organizationID) <= maxClaimBytes
}

// parse verifies a token and reads its claims. Errors: as verify.
func (v *verifier) parse(ctx context.Context, parser *jwt.Parser, token string, into jwt.Claims) error {
	var outage error
	_, err := parser.ParseWithClaims(token, into, func(t *jwt.Token) (any, error) {
		if _, has := t.Header["crit"]; has {
			return nil, errors.New("critical extensions")
		}
		kid, _ := t.Header["kid"].(string)
		key, err := v.keys.key(ctx, kid)
		if err != nil && !errors.Is(err, errUnknownKey) {
			outage = err
		}
		return key, err
	})
	switch {
	case outage != nil:
		return outage
	case err != nil:
		return &invalidToken{describe(err)}
	}
	return nil
}

// describe says to the client what is wrong, in words of ours: the library's may quote the token.
func describe(err error) string {
	switch {
	case errors.Is(err, jwt.ErrTokenMalformed):
		return "the token is malformed"
	case errors.Is(err, errUnknownKey):
		return "the token is signed with an unknown key"
	case errors.Is(err, jwt.ErrTokenSignatureInvalid), errors.Is(err, jwt.ErrTokenUnverifiable):
		return "the signature is not valid"
	case errors.Is(err, jwt.ErrTokenExpired):
		return "the token has expired"
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return "the token is not valid yet"
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		return "the token is for another audience"
	case errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return "the token is from another issuer"
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		return "the token lacks a required claim"
	}
	return "the token is not valid"
}
