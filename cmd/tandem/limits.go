package main

import (
	"github.com/spf13/pflag"

	"github.com/tandem-do/tandem/proto/props"
)

// Limits of an organization, by default: enough for a team and its agents, so that one that runs wild is stopped. How many
// executions make sense in an hour only their owner knows.
const (
	defaultConcurrent = 100
	maxConcurrent     = 10_000
	maxPerHour        = 1_000_000_000
)

// addLimitFlags adds the flags of the limits of each organization.
func addLimitFlags(fs *pflag.FlagSet, l *props.UsageLimits) {
	l.Concurrent = defaultConcurrent
	fs.Var(intValue{&l.Concurrent, 0, maxConcurrent}, "max-concurrent-executions",
		"of an organization at once; 0: any")
	fromEnv(fs, "max-concurrent-executions", "MCP_MAX_CONCURRENT_EXECUTIONS")
	fs.Var(intValue{&l.PerHour, 0, maxPerHour}, "max-executions-per-hour",
		"of an organization in an hour of UTC; 0: any")
	fromEnv(fs, "max-executions-per-hour", "MCP_MAX_EXECUTIONS_PER_HOUR")
}

// addStrictLimitsFlag adds --strict-limits.
func addStrictLimitsFlag(fs *pflag.FlagSet, target *bool) {
	fs.BoolVar(target, "strict-limits", false, "keys of 2 KiB and values of 128 KiB, like Cloudflare's older storage")
	fromEnv(fs, "strict-limits", "TANDEM_STRICT_LIMITS")
}
