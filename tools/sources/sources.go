package sources

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/tandem-do/tandem/proto/props"
)

// Auth are credentials of a source.
type Auth struct {
	// Kind is one of the props.SourceAuth values, Header the header's name with SourceAuthHeader.
	Kind   string `json:"kind"`
	Header string `json:"header,omitempty"`
	// Secret is the token, the header's value, or the OAuth credentials as JSON.
	Secret string `json:"secret"`
}

// String hides the secret.
func (a Auth) String() string { return "auth:" + a.Kind }

// GoString hides the secret.
func (a Auth) GoString() string { return a.String() }

// Addition is a new source.
type Addition struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	URL      string `json:"url,omitempty"`
	BaseURL  string `json:"baseUrl,omitempty"`
	Document string `json:"document,omitempty"`
	Auth     *Auth  `json:"auth,omitempty"`
	Enabled  bool   `json:"enabled"`
	// Unverified adds it without connecting to it.
	Unverified bool `json:"-"`
}

// Change is what is set of a source.
type Change struct {
	Name    *string `json:"name,omitempty"`
	Enabled *bool   `json:"enabled,omitempty"`
	Auth    *Auth   `json:"auth,omitempty"`
	// Unverified takes credentials without trying them.
	Unverified bool `json:"-"`
}

func unverified(is bool) string {
	if is {
		return "?unverified=true"
	}
	return ""
}

// Add adds a source and prints it.
func (c *Client) Add(ctx context.Context, a Addition) error {
	var s props.Source
	if err := c.do(ctx, http.MethodPost, unverified(a.Unverified), a, &s); err != nil {
		return err
	}
	return c.show(&s)
}

// Update changes a source and prints it.
func (c *Client) Update(ctx context.Context, name string, change Change) error {
	s, err := c.find(ctx, name)
	if err != nil {
		return err
	}
	if err := c.do(ctx, http.MethodPatch, "/"+s.ID+unverified(change.Unverified), change, &s); err != nil {
		return err
	}
	return c.show(&s)
}

// List prints all sources.
func (c *Client) List(ctx context.Context) error {
	all, err := c.list(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.o.Stdout, 0, 0, 2, ' ', 0)
	for i, s := range all {
		if c.o.JSON {
			if err := c.document(s); err != nil {
				return err
			}
			continue
		}
		if i == 0 {
			fmt.Fprintln(w, "NAME\tKIND\tTOOLS\tSTATE\tADDRESS")
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", visible(s.Name), visible(s.Kind), s.Tools, state(&s), address(&s))
	}
	if len(all) == 0 && !c.o.JSON {
		fmt.Fprintln(w, "no sources yet; tandem sources add --help shows how to add one")
	}
	return w.Flush()
}

// Show prints one source.
func (c *Client) Show(ctx context.Context, name string) error {
	s, err := c.find(ctx, name)
	if err != nil {
		return err
	}
	return c.show(&s)
}

func (c *Client) show(s *props.Source) error {
	if c.o.JSON {
		return c.document(s)
	}
	w := tabwriter.NewWriter(c.o.Stdout, 0, 0, 2, ' ', 0)
	auth := s.Auth.Kind
	if s.Auth.Header != "" {
		auth += " " + s.Auth.Header
	}
	for _, row := range [][2]string{
		{"name", s.Name}, {"id", s.ID}, {"kind", s.Kind}, {"address", address(s)}, {"base", s.BaseURL}, {"auth", auth},
		{"state", state(s)}, {"tools", strconv.Itoa(s.Tools)}, {"asked", asked(s)}, {"said", s.Refresh.Message},
		{"created", s.CreatedAt.Format(time.RFC3339) + " by " + s.CreatedBy},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], visible(row[1]))
		}
	}
	return w.Flush()
}

// state says in a word how a source is.
func state(s *props.Source) string {
	switch {
	case !s.Enabled:
		return "disabled"
	case s.Refresh.Status == props.RefreshNever:
		return "not asked yet"
	case s.Refresh.Status == props.RefreshError:
		return "error"
	}
	return "ok"
}

func asked(s *props.Source) string {
	if s.Refresh.At == nil {
		return "never"
	}
	return s.Refresh.At.Format(time.RFC3339)
}

func address(s *props.Source) string {
	switch {
	case s.URL != "":
		return visible(s.URL)
	case s.BaseURL != "":
		return visible(s.BaseURL) + " (document)"
	}
	return "(document)"
}

// Remove removes a source and what is kept of it.
func (c *Client) Remove(ctx context.Context, name string) error {
	s, err := c.find(ctx, name)
	if err != nil {
		return err
	}
	var removed props.SourceRemoved
	if err := c.do(ctx, http.MethodDelete, "/"+s.ID, nil, &removed); err != nil {
		return err
	}
	if c.o.JSON {
		return c.document(removed)
	}
	_, err = fmt.Fprintf(c.o.Stdout, "removed %s\n", visible(s.Name))
	return err
}

// Refresh asks a source for its tools, and prints it. A source that cannot be reached is an error.
func (c *Client) Refresh(ctx context.Context, name string) error {
	s, err := c.find(ctx, name)
	if err != nil {
		return err
	}
	if err := c.do(ctx, http.MethodPost, "/"+s.ID+"/refresh", nil, &s); err != nil {
		return err
	}
	if err := c.show(&s); err != nil {
		return err
	}
	if s.Refresh.Status == props.RefreshError {
		return fmt.Errorf("%s could not be refreshed: %s", s.Name, visible(s.Refresh.Message))
	}
	return nil
}

// Tools prints the tools of a source.
func (c *Client) Tools(ctx context.Context, name string) error {
	s, err := c.find(ctx, name)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.o.Stdout, 0, 0, 2, ' ', 0)
	for offset := 0; ; {
		var page props.SourceToolPage
		q := url.Values{"limit": {strconv.Itoa(toolsPage)}, "offset": {strconv.Itoa(offset)}}
		if err := c.do(ctx, http.MethodGet, "/"+s.ID+"/tools?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		for _, t := range page.Items {
			if c.o.JSON {
				if err := c.document(t); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(w, "tools.%s\t%s\n", visible(t.Path), brief(t.Description))
		}
		if offset += len(page.Items); len(page.Items) == 0 || offset >= page.Total {
			return w.Flush()
		}
	}
}

// brief returns the first line of a description, cut to a line of a terminal.
func brief(text string) string {
	const most = 80
	line, _, _ := strings.Cut(text, "\n")
	if letters := []rune(visible(line)); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return visible(line)
}

// visible returns a text of somebody else's without what a terminal would take as a command.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
}

// document prints one JSON document on a line.
func (c *Client) document(doc any) error {
	e := json.NewEncoder(c.o.Stdout)
	e.SetEscapeHTML(false)
	return e.Encode(doc)
}
