package storage

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// parseKeys reads keys: "\e" is the empty one, "*N" one of N bytes, "#N" stands for N keys, and Go escapes are
// understood.
func parseKeys(args []string) []string {
	var keys []string
	for _, a := range args {
		for _, e := range parseEntries([]string{a}) {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

func parseKey(a string) string {
	if a == `\e` {
		return ""
	}
	if n, ok := strings.CutPrefix(a, "*"); ok {
		if count, err := strconv.Atoi(n); err == nil {
			return strings.Repeat("x", count)
		}
	}
	if s, err := strconv.Unquote(`"` + a + `"`); err == nil {
		return s
	}
	return a
}

func parseEntries(args []string) []Entry {
	var entries []Entry
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		if n, ok := strings.CutPrefix(key, "#"); ok {
			count, _ := strconv.Atoi(n)
			for i := range count {
				entries = append(entries, Entry{Key: fmt.Sprintf("k%03d", i), Value: []byte(value)})
			}
			continue
		}
		entries = append(entries, Entry{Key: parseKey(key), Value: []byte(parseKey(value))})
	}
	return entries
}

func parseList(t *testing.T, args []string) ListOptions {
	var opts ListOptions
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		parsed := parseKey(value)
		switch key {
		case "start":
			opts.Start = &parsed
		case "startAfter":
			opts.StartAfter = &parsed
		case "end":
			opts.End = &parsed
		case "prefix":
			opts.Prefix = parsed
		case "reverse":
			opts.Reverse = true
		case "limit":
			opts.Limit, _ = strconv.Atoi(value)
		default:
			t.Fatalf("unknown list option %q", a)
		}
	}
	return opts
}

func formatEntries(entries []Entry) string {
	parts := make([]string, len(entries))
	for i, entry := range entries {
		parts[i] = fmt.Sprintf("%s=%s", strings.Trim(strconv.QuoteToASCII(entry.Key), `"`), entry.Value)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// parseTime reads "+5s", relative to now, or milliseconds since 1970.
func parseTime(t *testing.T, s string) time.Time {
	if strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-") && strings.HasSuffix(s, "s") {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		return time.Now().Add(d)
	}
	millis, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.UnixMilli(millis)
}
