package cron_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/proto/cron"
)

// TestNext has Monday, 30 November 2026, 16:20 as its present.
func TestNext(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 16, 20, 30, 0, time.UTC)
	for expression, want := range map[string]string{
		"* * * * *":          "2026-11-30 16:21 Mon",
		"*/30 * * * *":       "2026-11-30 16:30 Mon",
		"5/20 * * * *":       "2026-11-30 16:25 Mon",
		"45 * * * *":         "2026-11-30 16:45 Mon",
		"0 17 * * sun":       "2026-12-06 17:00 Sun",
		"0 17 * * 1":         "2026-12-06 17:00 Sun",
		"10 7 * * mon-fri":   "2026-12-01 07:10 Tue",
		"10 7 * * 2-6":       "2026-12-01 07:10 Tue",
		"0 0 * * FRI-MON":    "2026-12-04 00:00 Fri", // wraps
		"0 0 * * 7-1":        "2026-12-05 00:00 Sat",
		"0 15 1 * *":         "2026-12-01 15:00 Tue",
		"0 18 * * 6L":        "2026-12-25 18:00 Fri",
		"0 18 * * friL":      "2026-12-25 18:00 Fri",
		"0 18 * * MON#2":     "2026-12-14 18:00 Mon",
		"0 18 * * 2#5":       "2026-11-30 18:00 Mon", // the fifth of the month
		"0 18 * * L":         "2026-12-05 18:00 Sat",
		"59 23 LW * *":       "2026-11-30 23:59 Mon",
		"59 23 L * *":        "2026-11-30 23:59 Mon",
		"0 0 LW 1 *":         "2027-01-29 00:00 Fri", // the 31st is a Sunday
		"0 0 L-3 12 *":       "2026-12-28 00:00 Mon",
		"0 0 L-4W 12 *":      "2026-12-28 00:00 Mon", // the 27th is a Sunday
		"0 0 1W 8 *":         "2027-08-02 00:00 Mon", // the 1st is a Sunday
		"0 0 1W 5 *":         "2027-05-03 00:00 Mon", // the 1st is a Saturday, and April is another month
		"0 0 15W * *":        "2026-12-15 00:00 Tue",
		"0 0 31W 10 *":       "2027-10-29 00:00 Fri", // the 31st is a Sunday
		"0 0 31 * *":         "2026-12-31 00:00 Thu",
		"0 0 29 2 *":         "2028-02-29 00:00 Tue",
		"0 0 13 * FRI":       "2026-12-04 00:00 Fri", // either
		"0 0 1,15 JAN-mar *": "2027-01-01 00:00 Fri",
		"22-2/2 3 * * *":     "2026-12-01 03:00 Tue",
		"0 22-2 * * *":       "2026-11-30 22:00 Mon",
	} {
		s, err := cron.Parse(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if got := s.Next(now).Format("2006-01-02 15:04 Mon"); got != want {
			t.Errorf("%s: next at %s, want %s", expression, got, want)
		}
	}
}

func TestNever(t *testing.T) {
	t.Parallel()
	s, err := cron.Parse("0 0 30 2 *")
	if err != nil {
		t.Fatal(err)
	}
	if at := s.Next(time.Unix(0, 0)); !at.IsZero() {
		t.Errorf("next at %v, want never", at)
	}
}

// TestNextAcrossCentury looks for a leap day where there are eight years without one.
func TestNextAcrossCentury(t *testing.T) {
	t.Parallel()
	s, err := cron.Parse("0 0 29 2 *")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Next(time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC)); got.Year() != 2104 {
		t.Errorf("next at %v, want 2104", got)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"":                        "it has 0 fields, not 5 (minute, hour, day of the month, month, day of the week)",
		"* * * *":                 "it has 4 fields, not 5 (minute, hour, day of the month, month, day of the week)",
		"@daily":                  "it has 1 fields, not 5 (minute, hour, day of the month, month, day of the week)",
		"60 * * * *":              `minute: "60" is not from 0 to 59`,
		"* 24 * * *":              `hour: "24" is not from 0 to 23`,
		"* * 0 * *":               `day of the month: "0" is not from 1 to 31`,
		"* * * 13 *":              `month: "13" is not from 1 to 12`,
		"* * * * 0":               `day of the week: "0" is not from 1 to 7`,
		"* * * * 8":               `day of the week: "8" is not from 1 to 7`,
		"* * * * MONDAY":          `day of the week: "MONDAY" is not from 1 to 7`,
		"*/0 * * * *":             `minute: step "0" is not a number from 1 to 59`,
		"*/x * * * *":             `minute: step "X" is not a number from 1 to 59`,
		"1-2-3 * * * *":           `minute: "2-3" is not from 0 to 59`,
		"1,,2 * * * *":            `minute: "" is not from 0 to 59`,
		"-1 * * * *":              `minute: "" is not from 0 to 59`,
		"+1 * * * *":              `minute: "+1" is not from 0 to 59`,
		"* * LX * *":              `day of the month: "LX" is not L, LW, L-3 or L-3W`,
		"* * L-31 * *":            `day of the month: "L-31" is not from L-1 to L-30`,
		"* * 32W * *":             `day of the month: "32" is not from 1 to 31`,
		"* * * * 2#6":             `day of the week: "2#6" is not from #1 to #5`,
		"* * * * ?":               `day of the week: "?" is not from 1 to 7`,
		strings.Repeat("* ", 300): "600 bytes are too many, at most 512",
	} {
		if _, err := cron.Parse(expression); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", expression, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"* * * * *", "1-2/3 L-3W LW JAN 6#2", "0 0 31W 2 FRI-MON", "5/5 1,2 15W * 6L"} {
		f.Add(s)
	}
	now := time.Date(2026, 11, 30, 16, 20, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, expression string) {
		s, err := cron.Parse(expression)
		if err != nil {
			return
		}
		next := s.Next(now)
		if !next.IsZero() && !next.After(now) {
			t.Errorf("%q: next at %v, which is not later", expression, next)
		}
		if again, err := cron.Parse(s.String()); err != nil || again != s {
			t.Errorf("%q parses to another schedule the second time", expression)
		}
	})
}
