package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

const userAgent = "tandem"

// parts are a request's parts while it is put together.
type parts struct {
	path    map[string]string
	query   []string
	headers http.Header
	cookies []string
}

// request makes the request of a call. Its errors are *upstream.Error and worded for a program.
func (s *Source) request(ctx context.Context, op *operation, arguments json.RawMessage) (*http.Request, error) {
	given, err := op.check(arguments)
	if err != nil {
		return nil, upstream.Errorf(upstream.CodeFailed, "%s: %s", op.tool, err)
	}
	p := &parts{path: map[string]string{}, headers: http.Header{}}
	for _, parameter := range op.parameters {
		if err := p.add(parameter, given[parameter.argument]); err != nil {
			return nil, upstream.Errorf(upstream.CodeFailed, "%s: argument %s: %s", op.tool, parameter.argument, err)
		}
	}
	var written []byte
	if argument, ok := given[bodyArgument]; ok && op.body != nil {
		if written, err = op.body.write(argument); err != nil {
			return nil, upstream.Errorf(upstream.CodeFailed, "%s: argument body: %s", op.tool, err)
		}
		p.headers.Set("Content-Type", op.body.mediaType)
	}
	address, err := op.address(p)
	if err != nil {
		return nil, upstream.Errorf(upstream.CodeFailed, "%s: %s", op.tool, err)
	}
	var content io.Reader
	if written != nil {
		content = bytes.NewReader(written)
	}
	req, err := http.NewRequestWithContext(ctx, op.method, address, content)
	if err != nil {
		return nil, upstream.Errorf(upstream.CodeFailed, "%s: its arguments make no address", op.tool)
	}
	return req, s.finish(req, op, p)
}

// finish adds headers, cookies and, at its own origin only, the credentials.
func (s *Source) finish(req *http.Request, op *operation, p *parts) error {
	req.Header = p.headers
	req.Header.Set("Accept", "application/json, */*;q=0.5")
	req.Header.Set("User-Agent", userAgent)
	for _, cookie := range p.cookies {
		addCookie(req, cookie)
	}
	if !sameOrigin(req.URL, s.server) {
		return nil
	}
	if s.auth.In == inQuery && slices.ContainsFunc(p.query, func(q string) bool {
		return strings.HasPrefix(q, escape(s.auth.Name)+"=")
	}) {
		return upstream.Errorf(upstream.CodeFailed, "%s: the source's credentials fill %.100q", op.tool, s.auth.Name)
	}
	s.auth.apply(req)
	return nil
}

func addCookie(req *http.Request, cookie string) {
	if before := req.Header.Get("Cookie"); before != "" {
		cookie = before + "; " + cookie
	}
	req.Header.Set("Cookie", cookie)
}

// check reads the arguments: those that are there are known, and those that are required are there. null counts as absent,
// but for the body.
func (op *operation) check(arguments json.RawMessage) (map[string]json.RawMessage, error) {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, errors.New("its arguments are not a JSON object")
	}
	known := map[string]bool{bodyArgument: op.body != nil}
	for _, p := range op.parameters {
		known[p.argument] = true
		if string(given[p.argument]) == "null" {
			delete(given, p.argument)
		}
		if _, there := given[p.argument]; p.required && !there {
			return nil, fmt.Errorf("the argument %s is missing", p.argument)
		}
	}
	if _, there := given[bodyArgument]; op.body != nil && op.body.required && !there {
		return nil, errors.New("the argument body is missing")
	}
	for name := range given {
		if !known[name] {
			return nil, fmt.Errorf("it has no argument %.100q", name)
		}
	}
	return given, nil
}

// add writes one parameter, if it is given.
func (p *parts) add(parameter parameter, argument json.RawMessage) error {
	if argument == nil {
		return nil
	}
	value, err := decode(argument)
	if err != nil {
		return err
	}
	if parameter.json {
		if value, err = compact(value); err != nil {
			return err
		}
	}
	switch parameter.in {
	case inPath:
		p.path[parameter.name], err = parameter.inPathStyle(value)
		if err == nil && p.path[parameter.name] == "" {
			err = errors.New("it must not be empty")
		}
	case inQuery:
		var pairs []string
		pairs, err = parameter.query(value)
		p.query = append(p.query, pairs...)
	case inHeader:
		var s string
		if s, err = joined(value, ",", parameter.explode, verbatim); err == nil && !httpguts.ValidHeaderFieldValue(s) {
			err = errors.New("it holds characters that a header cannot")
		}
		p.headers.Set(parameter.name, s)
	case inCookie:
		var pairs []string
		pairs, err = parameter.query(value)
		p.cookies = append(p.cookies, pairs...)
	}
	return err
}

// address returns the URL of a request. A path parameter stays within its segment: what would lead elsewhere is an error.
func (op *operation) address(p *parts) (string, error) {
	path, err := expand(op.path, func(name string) (string, error) { return p.path[name], nil })
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(strings.Split(path, "/"), dots) {
		return "", errors.New("its arguments make a path with . or .. in it")
	}
	query := strings.Join(p.query, "&")
	if len(path)+len(query) > maxAddressBytes {
		return "", fmt.Errorf("its arguments make an address longer than %d bytes", maxAddressBytes)
	}
	address := op.server.String() + path
	if query != "" {
		address += "?" + query
	}
	return address, nil
}
