package traces

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Ranges of the search's parameters.
const (
	defaultLookback = 15 * time.Minute
	minLookback     = time.Millisecond
	maxLookback     = 7 * 24 * time.Hour
	defaultLimit    = 100
	maxLimit        = 1000
	maxAttrFilters  = 16
	attrPrefix      = "attr."
)

// paramError names a parameter that was not taken and what would have been.
type paramError struct{ parameter, accepted string }

func (e *paramError) Error() string {
	return fmt.Sprintf("parameter %s must be %s", e.parameter, e.accepted)
}

// parseSearch reads the parameters of a span search at now.
func parseSearch(values url.Values, now time.Time) (query, error) {
	q := query{since: now.Add(-defaultLookback), limit: defaultLimit}
	for name, got := range values {
		if len(got) != 1 {
			return query{}, &paramError{name, "given once"}
		}
		if err := q.set(name, got[0], now); err != nil {
			return query{}, err
		}
	}
	if len(q.attrs) > maxAttrFilters {
		return query{}, &paramError{attrPrefix + "<key>", fmt.Sprintf("given at most %d times", maxAttrFilters)}
	}
	return q, nil
}

// set reads one parameter into q.
func (q *query) set(name, value string, now time.Time) error {
	switch name {
	case "lookback":
		d, err := time.ParseDuration(value)
		if err != nil || d < minLookback || d > maxLookback {
			return &paramError{name, "a duration from 1ms to 168h, such as 15m"}
		}
		q.since = now.Add(-d)
	case "limit":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxLimit {
			return &paramError{name, "a whole number from 1 to 1000"}
		}
		q.limit = n
	case "operation", "service":
		if value == "" || len(value) > maxNameBytes {
			return &paramError{name, fmt.Sprintf("a name of 1 to %d bytes", maxNameBytes)}
		}
		if name == "operation" {
			q.operation = value
		} else {
			q.service = value
		}
	case "traceId":
		id, err := parseTraceID(value)
		if err != nil {
			return err
		}
		q.trace = &id
	default:
		key, ok := strings.CutPrefix(name, attrPrefix)
		if !ok {
			return &paramError{cut(name, 64), "one of lookback, limit, operation, service, traceId, attr.<key>"}
		}
		if key == "" || len(key) > maxKeyBytes {
			return &paramError{attrPrefix + "<key>", fmt.Sprintf("named with a key of 1 to %d bytes", maxKeyBytes)}
		}
		if len(value) > maxValueBytes {
			return &paramError{attrPrefix + key, fmt.Sprintf("at most %d bytes", maxValueBytes)}
		}
		q.attrs = append(q.attrs, tag{key, value})
	}
	return nil
}

// parseTraceID reads a trace id of 32 hexadecimal digits.
func parseTraceID(value string) (traceID, error) {
	raw, err := hex.DecodeString(value)
	if err != nil || len(raw) != len(traceID{}) || traceID(raw) == (traceID{}) {
		return traceID{}, &paramError{"traceId", "32 hexadecimal digits, one of them not 0"}
	}
	return traceID(raw), nil
}
