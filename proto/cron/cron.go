package cron

import (
	"fmt"
	"strings"
	"time"
)

// maxExpression bounds what is parsed, in bytes.
const maxExpression = 512

// Schedule says when a Cron Trigger is due.
type Schedule struct {
	text    string
	minutes uint64
	hours   uint64
	months  uint64 // bits 1 to 12
	dom     days
	dow     weekdays
}

// days are those of a month.
type days struct {
	star bool
	mask uint64 // bits 1 to 31
	// last counts back from the month's last day; nearest is a day to move to a weekday.
	fromLast bool
	last     int
	weekday  bool
	day      int
}

// weekdays are those of a week, Sunday first.
type weekdays struct {
	star bool
	mask uint64 // bits 0 to 6
	// last is the last of its day in the month, nth that many of it.
	last bool
	nth  int
	day  time.Weekday
}

// Parse reads an expression of five fields between spaces. Letters may be of either case.
func Parse(expression string) (Schedule, error) {
	if len(expression) > maxExpression {
		return Schedule{}, fmt.Errorf("%d bytes are too many, at most %d", len(expression), maxExpression)
	}
	f := strings.Fields(strings.ToUpper(expression))
	if len(f) != 5 {
		return Schedule{}, fmt.Errorf("it has %d fields, not 5 (minute, hour, day of the month, month, day of the week)",
			len(f))
	}
	s := Schedule{text: expression}
	var err error
	for _, one := range []struct {
		target *uint64
		text   string
		field  field
	}{
		{&s.minutes, f[0], field{name: "minute", max: 59}},
		{&s.hours, f[1], field{name: "hour", max: 23}},
		{&s.months, f[3], field{name: "month", min: 1, max: 12, names: "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"}},
	} {
		if *one.target, err = one.field.parse(one.text); err != nil {
			return Schedule{}, err
		}
	}
	if s.dom, err = parseDays(f[2]); err != nil {
		return Schedule{}, err
	}
	if s.dow, err = parseWeekdays(f[4]); err != nil {
		return Schedule{}, err
	}
	return s, nil
}

// String returns the expression as it was parsed.
func (s Schedule) String() string { return s.text }

// horizon is how far Next looks: every day that exists comes round within 8 years, since 2100 is no leap year.
const horizon = 9

// Next returns the first minute after t at which the schedule is due, in UTC, or the zero time if it never is.
func (s Schedule) Next(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Minute).Add(time.Minute)
	day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	for end := day.AddDate(horizon, 0, 0); day.Before(end); {
		if s.months&(1<<day.Month()) == 0 {
			day = time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		}
		if s.onDay(day) {
			if at := s.onTime(day, t); !at.IsZero() {
				return at
			}
		}
		day = day.AddDate(0, 0, 1)
	}
	return time.Time{}
}

// onTime returns the first due minute of a day that is not before t.
func (s Schedule) onTime(day, t time.Time) time.Time {
	for hour := range 24 {
		if s.hours&(1<<hour) == 0 {
			continue
		}
		for minute := range 60 {
			if s.minutes&(1<<minute) == 0 {
				continue
			}
			at := day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
			if !at.Before(t) {
				return at
			}
		}
	}
	return time.Time{}
}

// onDay says whether a day is due, whatever its month.
func (s Schedule) onDay(day time.Time) bool {
	switch {
	case s.dom.star && s.dow.star:
		return true
	case s.dom.star:
		return s.dow.has(day)
	case s.dow.star:
		return s.dom.has(day)
	}
	return s.dom.has(day) || s.dow.has(day)
}

func lastDay(day time.Time) int {
	return time.Date(day.Year(), day.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func (d days) has(day time.Time) bool {
	last, want := lastDay(day), d.day
	switch {
	case d.fromLast:
		want = last - d.last
	case !d.weekday:
		return d.mask&(1<<day.Day()) != 0
	}
	if want < 1 || want > last {
		return false
	}
	if d.weekday {
		want = nearestWeekday(day, want, last)
	}
	return day.Day() == want
}

// nearestWeekday returns the day from Monday to Friday that is nearest to one, in the same month.
func nearestWeekday(month time.Time, day, last int) int {
	switch time.Date(month.Year(), month.Month(), day, 0, 0, 0, 0, time.UTC).Weekday() {
	case time.Saturday:
		if day == 1 {
			return 3
		}
		return day - 1
	case time.Sunday:
		if day == last {
			return day - 2
		}
		return day + 1
	default:
		return day
	}
}

func (w weekdays) has(day time.Time) bool {
	switch {
	case w.last:
		return day.Weekday() == w.day && day.Day()+7 > lastDay(day)
	case w.nth > 0:
		return day.Weekday() == w.day && (day.Day()-1)/7 == w.nth-1
	}
	return w.mask&(1<<day.Weekday()) != 0
}
