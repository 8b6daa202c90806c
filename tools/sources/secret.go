package sources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/oauth"
	"github.com/tandem-do/tandem/proto/props"
)

// ReadSecret reads a secret from a file, or from stdin where the file is "-", without the line's end.
func ReadSecret(file string, stdin io.Reader) (string, error) {
	text, err := ReadFile(file, stdin, props.MaxSourceSecretBytes)
	if err != nil {
		return "", err
	}
	secret := strings.TrimRight(text, "\r\n")
	if secret == "" {
		return "", fmt.Errorf("%s holds no secret", file)
	}
	return secret, nil
}

// ReadFile reads a file, or stdin where it is "-", of at most most bytes.
func ReadFile(file string, stdin io.Reader, most int64) (string, error) {
	in := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	if int64(len(text)) > most {
		return "", fmt.Errorf("%s has more than %d bytes", file, most)
	}
	return string(text), nil
}

// SignIn signs in to an MCP server with a browser and returns the credentials of a source. It writes the address that the
// browser is to open to out.
func SignIn(ctx context.Context, server string, out io.Writer) (*Auth, error) {
	credentials, err := signIn(ctx, server, out)
	if err != nil {
		return nil, err
	}
	secret, err := json.Marshal(credentials)
	if err != nil {
		return nil, err
	}
	return &Auth{Kind: props.SourceAuthOAuth, Secret: string(secret)}, nil
}

// WorkerToken signs in to a worker with a browser and returns a bearer token for it.
func WorkerToken(ctx context.Context, worker string, out io.Writer) (string, error) {
	credentials, err := signIn(ctx, strings.TrimSuffix(worker, "/")+"/mcp", out)
	if err != nil {
		return "", err
	}
	if credentials.AccessToken == "" {
		return "", errors.New("the sign-in gave no token")
	}
	return credentials.AccessToken, nil
}

func signIn(ctx context.Context, server string, out io.Writer) (oauth.Credentials, error) {
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	defer client.CloseIdleConnections()
	return oauth.SignIn(ctx, oauth.SignInOptions{
		ServerURL: server, HTTP: client,
		OpenBrowser: func(address string) error {
			_, err := fmt.Fprintf(out, "Open this address in a browser to sign in:\n\n  %s\n\n", address)
			return err
		},
	})
}
