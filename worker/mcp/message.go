package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodInitialize = "initialize"
	methodToolsCall  = "tools/call"
	// maxBatch bounds the messages of one body.
	maxBatch = 256
)

// message is what the worker needs to know of a body. Of a batch it describes the first request.
type message struct {
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

// parseMessage reads a body by the rules of the MCP SDK, so that worker and object understand the same.
func parseMessage(body []byte) (message, error) {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return message{}, errors.New("empty body")
	}
	var m message
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
	decoded, err := jsonrpc.DecodeMessage(raw)
	if err != nil {
		return err
	}
	req, ok := decoded.(*jsonrpc.Request)
	if !ok {
		return nil
	}
	if req.Method == "" {
		return errors.New("the method is empty")
	}
	if req.Method == methodInitialize {
		m.hasInitialize = true
	}
	first := m.method == ""
	if first {
		m.method = req.Method
		if req.ID.IsValid() {
			m.id = fmt.Sprint(req.ID.Raw())
			if m.rawID, err = json.Marshal(req.ID.Raw()); err != nil {
				return fmt.Errorf("request id: %w", err)
			}
		}
	}
	return m.addParams(req.Params, first)
}

// addParams reads what counts of a message's parameters. Parameters of another form are the object's to refuse.
func (m *message) addParams(raw json.RawMessage, first bool) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	var p struct {
		Name       json.RawMessage            `json:"name"`
		ClientInfo json.RawMessage            `json:"clientInfo"`
		Meta       map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return nil
	}
	var version string
	if json.Unmarshal(p.Meta[mcp.MetaKeyProtocolVersion], &version) == nil && version != "" {
		m.metaVersion = version
	}
	if !first {
		return nil
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
	return nil
}
