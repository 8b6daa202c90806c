package cron

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// field is what the values of a field may be.
type field struct {
	name     string
	min, max int
	names    string // of the values from min on, between spaces
}

// parse reads a list of values, ranges and steps as a set of bits.
func (f field) parse(text string) (uint64, error) {
	var mask uint64
	for item := range strings.SplitSeq(text, ",") {
		bits, err := f.item(item)
		if err != nil {
			return 0, err
		}
		mask |= bits
	}
	return mask, nil
}

// item reads *, 5, 5-10, and each of them with a step. A range whose end is before its start goes on from the field's
// start.
func (f field) item(text string) (uint64, error) {
	span, step, stepped := strings.Cut(text, "/")
	n := 1
	if stepped {
		var err error
		if n, err = f.number(step, max(f.min, 1), f.max); err != nil {
			return 0, fmt.Errorf("%s: step %q is not a number from %d to %d", f.name, step, max(f.min, 1), f.max)
		}
	}
	first, last, err := f.span(span, stepped)
	if err != nil {
		return 0, err
	}
	if last < first {
		last += f.max - f.min + 1
	}
	var mask uint64
	for v := first; v <= last; v += n {
		mask |= 1 << (f.min + (v-f.min)%(f.max-f.min+1))
	}
	return mask, nil
}

func (f field) span(text string, stepped bool) (first, last int, err error) {
	if text == "*" {
		return f.min, f.max, nil
	}
	from, to, ranged := strings.Cut(text, "-")
	if first, err = f.value(from); err != nil {
		return 0, 0, err
	}
	switch {
	case ranged:
		last, err = f.value(to)
	case stepped:
		last = f.max
	default:
		last = first
	}
	return first, last, err
}

// value reads a number or a name.
func (f field) value(text string) (int, error) {
	if f.names != "" && len(text) == 3 {
		if i := strings.Index(f.names, text); i >= 0 && i%4 == 0 {
			return f.min + i/4, nil
		}
	}
	v, err := f.number(text, f.min, f.max)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not from %d to %d", f.name, text, f.min, f.max)
	}
	return v, nil
}

func (f field) number(text string, least, most int) (int, error) {
	if strings.Trim(text, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	v, err := strconv.Atoi(text)
	if err == nil && (v < least || v > most) {
		err = strconv.ErrRange
	}
	return v, err
}

// parseDays reads the day of the month.
func parseDays(text string) (days, error) {
	f := field{name: "day of the month", min: 1, max: 31}
	rest, last := strings.CutPrefix(text, "L")
	rest, weekday := strings.CutSuffix(rest, "W")
	switch {
	case text == "*":
		return days{star: true}, nil
	case last && rest == "":
		return days{fromLast: true, weekday: weekday}, nil
	case last && strings.HasPrefix(rest, "-"):
		n, err := f.number(rest[1:], 1, 30)
		if err != nil {
			return days{}, fmt.Errorf("%s: %q is not from L-1 to L-30", f.name, text)
		}
		return days{fromLast: true, last: n, weekday: weekday}, nil
	case last:
		return days{}, fmt.Errorf("%s: %q is not L, LW, L-3 or L-3W", f.name, text)
	case weekday:
		n, err := f.value(rest)
		return days{weekday: true, day: n}, err
	}
	mask, err := f.parse(text)
	return days{mask: mask}, err
}

// parseWeekdays reads the day of the week, whose values are 1 to 7 from Sunday.
func parseWeekdays(text string) (weekdays, error) {
	f := field{name: "day of the week", min: 1, max: 7, names: "SUN MON TUE WED THU FRI SAT"}
	switch {
	case text == "*":
		return weekdays{star: true}, nil
	case text == "L": // the week's last day
		return weekdays{mask: 1 << time.Saturday}, nil
	case strings.HasSuffix(text, "L"):
		day, err := f.value(strings.TrimSuffix(text, "L"))
		return weekdays{last: true, day: time.Weekday(day - 1)}, err
	case strings.Contains(text, "#"):
		name, nth, _ := strings.Cut(text, "#")
		day, err := f.value(name)
		if err != nil {
			return weekdays{}, err
		}
		n, err := f.number(nth, 1, 5)
		if err != nil {
			return weekdays{}, fmt.Errorf("%s: %q is not from #1 to #5", f.name, text)
		}
		return weekdays{nth: n, day: time.Weekday(day - 1)}, nil
	}
	mask, err := f.parse(text)
	return weekdays{mask: mask >> 1}, err
}
