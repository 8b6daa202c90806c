package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// server returns the source's address: the option's, or that of the document's first server.
func (d *document) server(o Options) (*url.URL, error) {
	if o.BaseURL != "" {
		u, err := checkServer(o.BaseURL, nil)
		if err != nil {
			return nil, fmt.Errorf("base URL: %w", err)
		}
		return u, nil
	}
	u, err := d.firstServer(d.root["servers"], o.DocumentURL)
	if err != nil {
		return nil, fmt.Errorf("the document's server: %w", err)
	}
	return u, nil
}

// firstServer reads the first of a list of servers; variables take their defaults. None means "/".
func (d *document) firstServer(servers any, documentURL string) (*url.URL, error) {
	address, variables := "/", map[string]any(nil)
	if all := list(servers); len(all) > 0 {
		first := object(all[0])
		address, variables = text(first["url"]), object(first["variables"])
	}
	filled, err := expand(address, func(name string) (string, error) {
		value, ok := object(variables[name])["default"].(string)
		if !ok {
			return "", fmt.Errorf("its variable %.100q has no default; give a base URL", name)
		}
		return value, nil
	})
	if err != nil {
		return nil, err
	}
	var base *url.URL
	if documentURL != "" {
		if base, err = url.Parse(documentURL); err != nil {
			return nil, errors.New("the document's own address is not a URL")
		}
		base.User, base.RawQuery, base.Fragment = nil, "", ""
	}
	return checkServer(filled, base)
}

// checkServer parses an address, relative to base if that is there. Errors do not quote what may hold a password.
func checkServer(address string, base *url.URL) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	if !u.IsAbs() && base == nil {
		return nil, errors.New("it is not an absolute URL; give a base URL")
	}
	if slices.ContainsFunc(strings.Split(u.Path, "/"), dots) && u.IsAbs() {
		return nil, errors.New("its path holds . or ..")
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("its scheme is %.20q, not http or https", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("it names no host")
	case u.User != nil:
		return nil, errors.New("it holds a user or password; give credentials separately")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("it has a query or fragment")
	}
	u.Host = strings.ToLower(u.Host)
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}

// dots says whether a segment of a path would lead elsewhere.
func dots(segment string) bool { return segment == "." || segment == ".." }

// expand replaces each {name} of a template.
func expand(template string, value func(name string) (string, error)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", errors.New("a { has no }")
		}
		v, err := value(name)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
		if b.Len() > maxAddressBytes {
			return "", fmt.Errorf("an address is longer than %d bytes", maxAddressBytes)
		}
		template = after
	}
}

// sameOrigin says whether credentials for one address may go to another.
func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }
