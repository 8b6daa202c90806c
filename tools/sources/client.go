package sources

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tandem-do/tandem/proto/props"
)

const (
	path = "/api/sources"
	// requestTimeout bounds one request; the worker's own bound is shorter.
	requestTimeout = 70 * time.Second
	// maxAnswerBytes bounds one answer: 500 sources, or 500 tools, fit.
	maxAnswerBytes = 8 << 20
	// toolsPage is how many tools are asked for at a time.
	toolsPage = 500
)

// Options say where the API is and how to print.
type Options struct {
	// URL is the worker's origin.
	URL string
	// Token is a bearer token for it.
	Token string
	// JSON prints one JSON document a line instead of text.
	JSON bool
	// Stdout takes what was asked for.
	Stdout io.Writer
}

// Client is a way to the API. Close it.
type Client struct {
	o    Options
	http *http.Client
}

// New returns a client.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the worker's URL must be an origin such as http://127.0.0.1:8787")
	}
	o.URL = strings.TrimSuffix(o.URL, "/")
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &Client{o: o, http: &http.Client{
		Transport: transport, Timeout: requestTimeout,
		// The token is for this origin alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// APIError is a request that the worker refused.
type APIError struct {
	// Status is HTTP's.
	Status int
	// Message is the worker's.
	Message string
}

// Error returns the message.
func (e *APIError) Error() string {
	if e.Status == http.StatusUnauthorized {
		return "the worker refused the token: " + e.Message
	}
	return e.Message
}

// do makes a request and reads the answer.
func (c *Client) do(ctx context.Context, method, below string, in, out any) error {
	var body io.Reader = http.NoBody
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.o.URL+path+below, body)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+c.o.Token)
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("ask the worker: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // what was wanted of it was read
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil {
		return fmt.Errorf("ask the worker: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		var said struct{ Message string }
		if json.Unmarshal(text, &said) != nil || said.Message == "" {
			said.Message = fmt.Sprintf("%s answered with status %d, so it may be no worker", c.o.URL, resp.StatusCode)
		}
		return &APIError{resp.StatusCode, visible(said.Message)} // a source may have worded it
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("the worker's answer: %w", err)
	}
	return nil
}

// list returns all sources.
func (c *Client) list(ctx context.Context) ([]props.Source, error) {
	var all []props.Source
	return all, c.do(ctx, http.MethodGet, "", nil, &all)
}

// find returns the source of a name or an ID.
func (c *Client) find(ctx context.Context, name string) (props.Source, error) {
	all, err := c.list(ctx)
	if err != nil {
		return props.Source{}, err
	}
	for _, s := range all {
		if s.Name == name || s.ID == name {
			return s, nil
		}
	}
	return props.Source{}, fmt.Errorf("there is no source %q; tandem sources list shows them", name)
}

// URL returns where a source is.
func (c *Client) URL(ctx context.Context, name string) (string, error) {
	s, err := c.find(ctx, name)
	if err == nil && s.Kind != props.SourceMCP {
		err = fmt.Errorf("%s is no MCP server, so nobody can sign in there", s.Name)
	}
	return s.URL, err
}
