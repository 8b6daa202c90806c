package openapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/egress"
)

// maxErrorBodyBytes bounds the body of an answer that is an error, in Details.
const maxErrorBodyBytes = 16 << 10

// exchange does a request and reads what came of it.
func (s *Source) exchange(req *http.Request) (json.RawMessage, error) {
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, egress.Error(err)
	}
	defer func() { _ = resp.Body.Close() }() // what was wanted of it was read
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, s.failure(resp)
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, upstream.MaxResultBytes+1))
	if err != nil {
		return nil, egress.Error(err)
	}
	if len(content) > upstream.MaxResultBytes {
		return nil, tooLarge()
	}
	result, err := encode(resp.Header.Get("Content-Type"), s.redactor.redact(content))
	if err != nil {
		return nil, unreadable()
	}
	if len(result) > upstream.MaxResultBytes {
		return nil, tooLarge()
	}
	return result, nil
}

func unreadable() error {
	return upstream.Errorf(upstream.CodeFailed, "the source's answer could not be read")
}

func tooLarge() error {
	return upstream.Errorf(upstream.CodeTooLarge, "the source's answer is larger than %d KiB; ask for less of it",
		upstream.MaxResultBytes>>10)
}

// encode makes JSON of a body.
func encode(mediaType string, content []byte) (json.RawMessage, error) {
	base := baseType(mediaType)
	switch {
	case len(bytes.TrimSpace(content)) == 0 && (isJSON(mediaType) || len(content) == 0):
		return json.RawMessage("null"), nil
	case (isJSON(mediaType) || base == "") && json.Valid(content) && utf8.Valid(content):
		return content, nil
	case utf8.Valid(content) && bytes.IndexByte(content, 0) < 0:
		return json.Marshal(struct {
			Text string `json:"text"`
		}{string(content)})
	default:
		return json.Marshal(struct {
			Base64      string `json:"base64"`
			ContentType string `json:"contentType,omitempty"`
		}{base64.StdEncoding.EncodeToString(content), base})
	}
}

// failureDetails is Details of an error that the server answered.
type failureDetails struct {
	Status     int             `json:"status"`
	RetryAfter string          `json:"retryAfter,omitempty"`
	Body       json.RawMessage `json:"body,omitempty"`
	// Cut says that Body is the beginning of what came, as text.
	Cut bool `json:"cut,omitempty"`
}

// failure words an answer that is not a success.
func (s *Source) failure(resp *http.Response) error {
	// What is read past the end that is kept lets a secret be found that lies across it.
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBodyBytes+4*maxSecretBytes))
	if err != nil {
		return egress.Error(err)
	}
	details := failureDetails{
		Status: resp.StatusCode, RetryAfter: cut(string(s.redactor.redact([]byte(resp.Header.Get("Retry-After")))), 100),
	}
	mediaType := resp.Header.Get("Content-Type")
	content = s.redactor.redact(content)
	if len(content) > maxErrorBodyBytes {
		content, mediaType, details.Cut = []byte(cut(string(content), maxErrorBodyBytes)), "text/plain", true
	}
	if details.Body, err = encode(mediaType, content); err != nil {
		return unreadable()
	}
	if string(details.Body) == "null" {
		details.Body = nil
	}
	failure := upstream.Errorf(upstream.CodeFailed, "the source answered with status %d %s",
		resp.StatusCode, http.StatusText(resp.StatusCode))
	if resp.StatusCode == http.StatusUnauthorized {
		failure.Code = upstream.CodeUnauthorized
		failure.Message = "the source refused the credentials it has here (status 401)"
	}
	if failure.Details, err = json.Marshal(details); err != nil {
		return unreadable()
	}
	return failure
}
