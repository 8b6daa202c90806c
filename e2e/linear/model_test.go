package linear

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// cells is how many cells a register has.
const cells = 3

// values are the state of a register.
type values [cells]int

// call is one call of a register's method.
type call struct {
	Method string
	// Cell is the cell that is written; To is the other one of a swap.
	Cell, To int
	Value    int
	Old      int
}

// result is what a call gave.
type result struct {
	// Unknown is true when the caller was not told.
	Unknown bool
	// Done is what compareAndSet returned, Values what read did.
	Done   bool
	Values values
}

// registers is the sequential specification of one register.
func registers() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return values{} },
		Step: func(state, input, output any) (bool, any) {
			return step(state.(values), input.(call), output.(result))
		},
		DescribeOperation: func(input, output any) string { return describe(input.(call), output.(result)) },
	}
}

// step says whether a call in a state may give a result, and what state follows.
func step(s values, c call, r result) (bool, values) {
	switch c.Method {
	case "read":
		return r.Unknown || r.Values == s, s
	case "write":
		s[c.Cell] = c.Value
	case "compareAndSet":
		if s[c.Cell] != c.Old {
			return r.Unknown || !r.Done, s
		}
		s[c.Cell] = c.Value
		return r.Unknown || r.Done, s
	case "fill":
		s = values{c.Value, c.Value, c.Value}
	case "swap":
		s[c.Cell], s[c.To] = s[c.To], s[c.Cell]
	case "tryFill":
	}
	return true, s
}

func describe(c call, r result) string {
	text := c.Method
	switch c.Method {
	case "write":
		text += fmt.Sprintf(" %d=%d", c.Cell, c.Value)
	case "compareAndSet":
		text += fmt.Sprintf(" %d: %d→%d: %v", c.Cell, c.Old, c.Value, r.Done)
	case "fill", "tryFill":
		text += fmt.Sprintf(" %d", c.Value)
	case "swap":
		text += fmt.Sprintf(" %d %d", c.Cell, c.To)
	case "read":
		text += fmt.Sprintf(": %v", r.Values)
	}
	if r.Unknown {
		text += ", unknown outcome"
	}
	return text
}
