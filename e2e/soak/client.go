package soak

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// client is one MCP session, with as little of its own cost as possible.
type client struct {
	http                *http.Client
	url, token, session string
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}`

// open makes the session.
func (c *client) open() error {
	header, _, err := c.send(http.MethodPost, initialize)
	if err != nil {
		return err
	}
	c.session = header.Get("Mcp-Session-Id")
	_, _, err = c.send(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return err
}

// execute runs a program and fails unless its result is want.
func (c *client) execute(code, want string) error {
	arguments, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		return err
	}
	_, text, err := c.send(http.MethodPost,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute","arguments":`+string(arguments)+`}}`)
	if err == nil && !strings.Contains(text, `"result":`+want) {
		err = fmt.Errorf("the result is %.300s", text)
	}
	return err
}

// end ends the session.
func (c *client) end() error {
	_, _, err := c.send(http.MethodDelete, "")
	return err
}

// send sends a message and returns the response's headers and body.
func (c *client) send(method, body string) (http.Header, string, error) {
	r, err := http.NewRequest(method, c.url, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+c.token)
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("status %d: %.300s", resp.StatusCode, data)
	}
	return resp.Header, string(data), err
}
