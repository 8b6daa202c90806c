package mcpsession

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// emittedBlock is a value that a program emits to be shown as what it is, rather than as text.
type emittedBlock struct {
	// Type is "text", "image", "audio" or "file".
	Type string `json:"type"`
	// Text is what a text says, or a file that is one.
	Text *string `json:"text"`
	// Data are the bytes of an image, of sound or of a file: base64 in JSON.
	Data []byte `json:"data"`
	// MIMEType says what Data or Text are, Name what a file is called.
	MIMEType string `json:"mimeType"`
	Name     string `json:"name"`
}

// emittedContent returns the content block of an emitted value. One that is no block, or is not well formed, is text.
func emittedContent(value []byte) mcp.Content {
	if c := blockContent(value); c != nil {
		return c
	}
	return &mcp.TextContent{Text: valuePreview(value)}
}

// blockContent returns the block that a value describes, nil if it describes none. A value that has anything else in it
// is data that only looks like a block.
func blockContent(value []byte) mcp.Content {
	if !bytes.HasPrefix(value, []byte("{")) {
		return nil
	}
	var b emittedBlock
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	if d.Decode(&b) != nil {
		return nil
	}
	media, _, err := mime.ParseMediaType(b.MIMEType)
	if err != nil && b.MIMEType != "" {
		return nil
	}
	switch {
	case b.Type == "text" && b.Text != nil && b.Data == nil && b.MIMEType == "" && b.Name == "":
		return &mcp.TextContent{Text: preview(*b.Text)}
	case b.Type == "image" && strings.HasPrefix(media, "image/") && len(b.Data) > 0 && b.Text == nil && b.Name == "":
		return &mcp.ImageContent{Data: b.Data, MIMEType: b.MIMEType}
	case b.Type == "audio" && strings.HasPrefix(media, "audio/") && len(b.Data) > 0 && b.Text == nil && b.Name == "":
		return &mcp.AudioContent{Data: b.Data, MIMEType: b.MIMEType}
	case b.Type == "file" && b.Name != "" && (b.Text == nil) != (b.Data == nil):
		file := &mcp.ResourceContents{URI: "file:///" + url.PathEscape(b.Name), MIMEType: b.MIMEType, Blob: b.Data}
		if b.Text != nil {
			file.Text = *b.Text
		}
		return &mcp.EmbeddedResource{Resource: file}
	}
	return nil
}
