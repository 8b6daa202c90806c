package idp

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
)

const (
	keyFile   = "signing-key.pem"
	keyBits   = 2048
	keyPEM    = "PRIVATE KEY"
	algorithm = "RS256"
)

// signingKey signs tokens. Its id is the key's RFC 7638 thumbprint.
type signingKey struct {
	private *rsa.PrivateKey
	id      string
	// set is what /jwks serves.
	set jose.JSONWebKeySet
}

// loadKey reads the signing key from dir, or makes one. A file that is not such a key is left as it is.
func loadKey(dir string) (*signingKey, error) {
	path := filepath.Join(dir, keyFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return makeKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read signing key: %w", err)
	}
	block, rest := pem.Decode(text)
	if block == nil || block.Type != keyPEM || len(bytes.TrimSpace(rest)) != 0 {
		return nil, fmt.Errorf("signing key %s is damaged: no PEM block of type %s", path, keyPEM)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("signing key %s is damaged: no PKCS #8 key", path)
	}
	private, ok := parsed.(*rsa.PrivateKey)
	if !ok || private.N.BitLen() < keyBits {
		return nil, fmt.Errorf("signing key %s is no RSA key of at least %d bits", path, keyBits)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, fmt.Errorf("protect signing key: %w", err)
	}
	return newSigningKey(private)
}

// makeKey makes a key and writes it to path, whole or not at all.
func makeKey(path string) (*signingKey, error) {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("encode signing key: %w", err)
	}
	// CreateTemp gives mode 0600.
	f, err := os.CreateTemp(filepath.Dir(path), keyFile+".*")
	if err != nil {
		return nil, fmt.Errorf("write signing key: %w", err)
	}
	err = pem.Encode(f, &pem.Block{Type: keyPEM, Bytes: der})
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write signing key: %w", err), os.Remove(f.Name()))
	}
	return newSigningKey(private)
}

func newSigningKey(private *rsa.PrivateKey) (*signingKey, error) {
	public := jose.JSONWebKey{Key: private.Public(), Algorithm: algorithm, Use: "sig"}
	sum, err := public.Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("name signing key: %w", err)
	}
	public.KeyID = base64.RawURLEncoding.EncodeToString(sum)
	return &signingKey{private, public.KeyID, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public}}}, nil
}

// sign returns a JWT of the claims; typ is its header's type.
func (k *signingKey) sign(typ string, claims jwt.MapClaims) (string, error) {
	t := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	t.Header["kid"], t.Header["typ"] = k.id, typ
	signed, err := t.SignedString(k.private)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed, nil
}

// verify returns the claims of an access token that this server issued and that has not expired.
func (k *signingKey) verify(token, issuer string) (jwt.MapClaims, error) {
	claims := jwt.MapClaims{}
	parsed, err := jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return k.private.Public(), nil },
		jwt.WithValidMethods([]string{algorithm}), jwt.WithIssuer(issuer), jwt.WithExpirationRequired())
	if err != nil {
		return nil, fmt.Errorf("verify token: %w", err)
	}
	if parsed.Header["typ"] != typeAccess {
		return nil, errors.New("verify token: not an access token")
	}
	return claims, nil
}
