package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodInitialize = "initialize"
	methodToolsCall  = "tools/call"
	// maxBatch bounds the messages of one body.
	maxBatch = 256
	// maxID is the largest number, positive or negative, that every JSON implementation keeps as it is.
	maxID = 1<<53 - 1
)

// message is what the worker needs to know of a body. Of a batch it describes the first request.
type message struct {
	// withParams: metaVersion, tool and client are wanted.
	withParams bool
	// batch: the body is an array.
	batch bool
	// hasInitialize: one of the messages is an initialize.
	hasInitialize bool
	// method is the request's or notification's; empty for a response.
	method string
	// id is the request's ID as text; empty for notifications and responses.
	id string
	// rawID is the same as JSON.
	rawID json.RawMessage
	// metaVersion is the protocol version that a message's _meta names.
	metaVersion string
	// tool is the name that a tools/call calls.
	tool string
	// client is who sends it, as an initialize or a _meta says.
	client implementation
}

// implementation names a client.
type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// parseMessage reads a body. Names are compared exactly, as the MCP SDK in the object does, so that both
// understand the same. The parameters are looked at only if withParams says so: they are most of a body and seldom
// needed.
func parseMessage(body []byte, withParams bool) (message, error) {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return message{}, errors.New("empty body")
	}
	m := message{withParams: withParams}
	if body[0] != '[' {
		return m, m.add(body)
	}
	m.batch = true
	var parts []json.RawMessage
	if err := json.Unmarshal(body, &parts); err != nil {
		return m, fmt.Errorf("parse batch: %w", err)
	}
	if len(parts) == 0 || len(parts) > maxBatch {
		return m, fmt.Errorf("a batch has 1 to %d messages, not %d", maxBatch, len(parts))
	}
	for _, part := range parts {
		if err := m.add(part); err != nil {
			return m, err
		}
	}
	return m, nil
}

// add reads one message into m.
func (m *message) add(raw []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return fmt.Errorf("parse message: %w", err)
	}
	if string(fields["jsonrpc"]) != `"2.0"` {
		return errors.New("not a message of JSON-RPC 2.0")
	}
	id, err := requestID(fields["id"])
	if err != nil {
		return err
	}
	rawMethod, isRequest := fields["method"]
	if !isRequest {
		if id == "" || (fields["result"] == nil && fields["error"] == nil) {
			return errors.New("neither a request nor a response")
		}
		return nil
	}
	var method string
	if err := json.Unmarshal(rawMethod, &method); err != nil || method == "" {
		return errors.New("the method is not a name")
	}
	if method == methodInitialize {
		m.hasInitialize = true
	}
	first := m.method == ""
	if first {
		m.method = method
		if m.id = id; id != "" {
			m.rawID = fields["id"]
		}
	}
	if m.withParams {
		m.addParams(fields["params"], first)
	}
	return nil
}

// requestID returns an ID as text: a string or a whole number; empty when there is none, or null.
func requestID(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	switch c := raw[0]; {
	case c == '"':
		var text string
		err := json.Unmarshal(raw, &text)
		if text == "" {
			text = `""` // an ID all the same
		}
		return text, err
	case c == '-', c >= '0' && c <= '9':
		// Others would be answered under another number, which their sender does not know.
		if n, err := strconv.ParseFloat(string(raw), 64); err != nil || n != math.Trunc(n) || math.Abs(n) > maxID {
			return "", errors.New("the id is not a whole number, or too large")
		}
		return string(raw), nil
	}
	return "", errors.New("the id is neither a string nor a number")
}

// addParams reads what counts of a message's parameters. Parameters of another form are the object's to refuse.
func (m *message) addParams(raw json.RawMessage, first bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	var p struct {
		Name       json.RawMessage            `json:"name"`
		ClientInfo json.RawMessage            `json:"clientInfo"`
		Meta       map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return
	}
	var version string
	if json.Unmarshal(p.Meta[mcp.MetaKeyProtocolVersion], &version) == nil && version != "" {
		m.metaVersion = version
	}
	if !first {
		return
	}
	// Wrong types leave the fields empty: they are for the span alone.
	if m.method == methodToolsCall {
		_ = json.Unmarshal(p.Name, &m.tool)
	}
	info := p.ClientInfo
	if m.method != methodInitialize {
		info = p.Meta[mcp.MetaKeyClientInfo]
	}
	_ = json.Unmarshal(info, &m.client)
}
