package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/tandem-do/tandem/tools/dev"
)

// envValue is a flag value whose environment variable is written in another way than the flag.
type envValue interface {
	setEnv(text string) error
}

// durationValue is a duration with a range. Its environment variable is in milliseconds.
type durationValue struct {
	target   *time.Duration
	min, max time.Duration
}

var _ envValue = durationValue{}

// String implements pflag.Value.
func (v durationValue) String() string {
	if v.target == nil {
		return ""
	}
	return shortDuration(*v.target)
}

// Type implements pflag.Value.
func (v durationValue) Type() string { return "duration" }

// Set implements pflag.Value.
func (v durationValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < v.min || d > v.max {
		return fmt.Errorf("it must be a duration from %s to %s", shortDuration(v.min), shortDuration(v.max))
	}
	*v.target = d
	return nil
}

// setEnv implements envValue.
func (v durationValue) setEnv(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < v.min.Milliseconds() || n > v.max.Milliseconds() {
		return fmt.Errorf("it must be a whole number of milliseconds from %d to %d",
			v.min.Milliseconds(), v.max.Milliseconds())
	}
	*v.target = time.Duration(n) * time.Millisecond
	return nil
}

// shortDuration is Duration.String without zero units at its end: 24h, not 24h0m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// intValue is an integer with a range.
type intValue struct {
	target   *int
	min, max int
}

// String implements pflag.Value.
func (v intValue) String() string {
	if v.target == nil {
		return ""
	}
	return strconv.Itoa(*v.target)
}

// Type implements pflag.Value.
func (v intValue) Type() string { return "int" }

// Set implements pflag.Value.
func (v intValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < v.min || n > v.max {
		return fmt.Errorf("it must be a whole number from %d to %d", v.min, v.max)
	}
	*v.target = n
	return nil
}

// ratioValue is a share above 0 and at most 1.
type ratioValue struct{ target *float64 }

// String implements pflag.Value.
func (v ratioValue) String() string {
	if v.target == nil {
		return ""
	}
	return strconv.FormatFloat(*v.target, 'g', -1, 64)
}

// Type implements pflag.Value.
func (v ratioValue) Type() string { return "ratio" }

// Set implements pflag.Value.
func (v ratioValue) Set(text string) error {
	r, err := strconv.ParseFloat(text, 64)
	if err != nil || !(r > 0 && r <= 1) {
		return fmt.Errorf("it must be a number above 0 and at most 1")
	}
	*v.target = r
	return nil
}

// directoryValue is where users and organizations are. It shows a URL without its password.
type directoryValue struct{ target *string }

// addDirectoryFlag adds the flag, which the environment may set so that a password needs no place in a command line.
func addDirectoryFlag(fs *pflag.FlagSet, target *string, usage string) {
	fs.Var(directoryValue{target}, "directory", usage)
	fromEnv(fs, "directory", dev.DirectoryVariable)
}

// String implements pflag.Value.
func (v directoryValue) String() string {
	if v.target == nil {
		return ""
	}
	if u, err := url.Parse(*v.target); err == nil {
		return u.Redacted()
	}
	return "(not a URL)"
}

// Type implements pflag.Value.
func (v directoryValue) Type() string { return "dsn" }

// Set implements pflag.Value.
func (v directoryValue) Set(text string) error {
	if !strings.HasPrefix(text, "sqlite:") && !strings.HasPrefix(text, "postgres://") {
		return errors.New("it must be sqlite:PATH or postgres://…")
	}
	*v.target = text
	return nil
}

// secretValue is a text that is never shown.
type secretValue struct{ target *string }

// String implements pflag.Value.
func (v secretValue) String() string {
	if v.target == nil || *v.target == "" {
		return ""
	}
	return "(secret)"
}

// Type implements pflag.Value.
func (v secretValue) Type() string { return "secret" }

// Set implements pflag.Value.
func (v secretValue) Set(text string) error {
	*v.target = text
	return nil
}

// choiceValue is one of a few words.
type choiceValue struct {
	target  *string
	choices []string
}

// String implements pflag.Value.
func (v choiceValue) String() string {
	if v.target == nil {
		return ""
	}
	return *v.target
}

// Type implements pflag.Value.
func (v choiceValue) Type() string { return "word" }

// Set implements pflag.Value.
func (v choiceValue) Set(text string) error {
	if !slices.Contains(v.choices, text) {
		return fmt.Errorf("it must be one of %s", strings.Join(v.choices, ", "))
	}
	*v.target = text
	return nil
}

// levelValue is a log level.
type levelValue struct{ target *slog.Level }

// String implements pflag.Value.
func (v levelValue) String() string {
	if v.target == nil {
		return ""
	}
	return strings.ToLower(v.target.String())
}

// Type implements pflag.Value.
func (v levelValue) Type() string { return "level" }

// Set implements pflag.Value.
func (v levelValue) Set(text string) error {
	var l slog.Level
	switch text {
	case "debug", "info", "warn", "error":
		if err := l.UnmarshalText([]byte(text)); err != nil {
			return err
		}
	default:
		return fmt.Errorf("it must be one of debug, info, warn, error")
	}
	*v.target = l
	return nil
}
