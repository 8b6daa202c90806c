package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/tandem-do/tandem/worker/ingress"
)

// inputError is a fault of the client's input.
type inputError struct {
	status  int
	message string
}

// Error returns the message for the client.
func (e *inputError) Error() string { return e.message }

// BadInput returns an error that is answered with 400 and this message.
func BadInput(format string, args ...any) error {
	return &inputError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// readBody reads a request's body, nil when its method has none.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.Method == http.MethodGet {
		return nil, nil
	}
	if given := r.Header.Get("Content-Type"); given != "" {
		if media, _, err := mime.ParseMediaType(given); err != nil || media != "application/json" {
			return nil, &inputError{http.StatusUnsupportedMediaType, "the content type must be application/json"}
		}
	}
	body, err := ingress.ReadBody(w, r, limit)
	switch {
	case errors.Is(err, ingress.ErrBodyTooLarge):
		return nil, &inputError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", limit)}
	case err != nil:
		return nil, BadInput("the body ended early")
	}
	return body, nil
}

// Decode reads a JSON object and refuses fields that are not known. Its errors name the field, and are answered with
// 400.
func Decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		if _, err := d.Token(); err != io.EOF {
			return BadInput("the body has more than one JSON value")
		}
		return nil
	case errors.As(err, &wrongType) && wrongType.Field != "":
		want := typeName(wrongType.Type.Kind().String())
		return BadInput("%s must be %s, not a %s", wrongType.Field, want, wrongType.Value)
	case errors.As(err, &wrongType):
		return BadInput("the body must be a JSON object")
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return BadInput("unknown field %s", field)
	}
	return BadInput("the body is not JSON")
}

// typeName returns JSON's name of a Go kind, with its article.
func typeName(kind string) string {
	switch kind {
	case "int":
		return "a whole number"
	case "bool":
		return "a boolean"
	case "struct", "map":
		return "an object"
	}
	return "a " + kind
}
