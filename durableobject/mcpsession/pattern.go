package mcpsession

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tandem-do/tandem/proto/props"
)

// maxPatternBytes bounds a policy's pattern.
const maxPatternBytes = 200

// checkPattern says what is wrong with a pattern. A pattern is "*", or a tool id whose segments are names of letters,
// digits, "_" and "-"; "*" may stand for a segment in the middle, and for all that follows at the end.
func checkPattern(pattern string) error {
	if pattern == "" {
		return errors.New("pattern must not be empty")
	}
	if len(pattern) > maxPatternBytes {
		return fmt.Errorf("pattern must be at most %d bytes long", maxPatternBytes)
	}
	if pattern == "*" {
		return nil
	}
	segments := strings.Split(pattern, ".")
	for i, s := range segments {
		switch {
		case s == "":
			return fmt.Errorf("pattern %q has an empty segment", pattern)
		case s == "*" && i == 0:
			return fmt.Errorf(`pattern %q: "*" may stand alone, in the middle or at the end, not at the start`, pattern)
		case s != "*" && strings.IndexFunc(s, notNameRune) >= 0:
			return fmt.Errorf(`pattern %q: segment %q must be "*" or consist of letters, digits, "_" and "-"`, pattern, s)
		}
	}
	return nil
}

func notNameRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
		return false
	}
	return true
}

// matchPattern reports whether a valid pattern covers a tool id. A "*" in the middle is exactly one segment, one at the
// end is one or more.
func matchPattern(pattern, tool string) bool {
	if pattern == "*" {
		return true
	}
	for {
		want, restWant, moreWant := strings.Cut(pattern, ".")
		have, restHave, moreHave := strings.Cut(tool, ".")
		if have == "" || (want != "*" && want != have) {
			return false
		}
		if !moreWant {
			return want == "*" || !moreHave
		}
		if !moreHave {
			return false
		}
		pattern, tool = restWant, restHave
	}
}

// decidePolicy returns what holds for a call of tool: of each list the first policy that matches, and of these the most
// restrictive; where they are equal, the one of the earlier list.
func decidePolicy(tool string, lists ...[]props.Policy) props.PolicyDecision {
	var decision props.PolicyDecision
	for _, list := range lists {
		for i := range list {
			if !matchPattern(list[i].Pattern, tool) {
				continue
			}
			if severity(list[i].Action) > severity(decision.Action) {
				p := list[i]
				decision = props.PolicyDecision{Action: p.Action, Policy: &p}
			}
			break
		}
	}
	return decision
}

// severity orders actions by how much they restrict; zero is no valid action.
func severity(action string) int {
	switch action {
	case props.ActionApprove:
		return 1
	case props.ActionRequireApproval:
		return 2
	case props.ActionBlock:
		return 3
	}
	return 0
}
