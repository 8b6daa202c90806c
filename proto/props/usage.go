package props

import "time"

// NamespaceUsage has one object per organization, named by the organization's ID: what its executions have used.
const NamespaceUsage = "mcp-Usage"

// MethodUsageReport takes UsageQuery, returns UsageReport.
const MethodUsageReport = "report"

// MaxUsageHours is for how many hours usage is kept, the present one included.
const MaxUsageHours = 24 * 31

// UsageQuery asks for the usage of the last hours.
type UsageQuery struct {
	// Hours is how many, the present one included: 1 to MaxUsageHours.
	Hours int `json:"hours"`
}

// UsageReport is what the executions of an organization have used, and what they may.
type UsageReport struct {
	// Limits are those of every organization.
	Limits UsageLimits `json:"limits"`
	// Running is how many executions run. It is not counted while no limit is set.
	Running int `json:"running"`
	// Hours are those in which there was something to count, the last one first.
	Hours []UsageHour `json:"hours"`
}

// UsageLimits bound the executions of one organization. 0 is no limit.
type UsageLimits struct {
	// Concurrent is how many may run at once. One that is paused counts while it keeps its process.
	Concurrent int `json:"concurrent"`
	// PerHour is how many may begin in an hour of the clock, in UTC.
	PerHour int `json:"perHour"`
}

// UsageHour is what was used in one hour of the clock, in UTC.
type UsageHour struct {
	// Hour is its beginning.
	Hour time.Time `json:"hour"`
	// Executions is how many began.
	Executions int64 `json:"executions"`
	// Refused is how many did not, for a limit.
	Refused int64 `json:"refused"`
	// Outcomes counts those that ended, by how they did: "completed", "exception", "exceeded_cpu" and so on.
	Outcomes map[string]int64 `json:"outcomes"`
	// CPUMS is the processor time of their programs, and WallMS the time that these ran, in milliseconds. Both are counted
	// when a program ends, or gives its process back in a pause.
	CPUMS  int64 `json:"cpuMs"`
	WallMS int64 `json:"wallMs"`
}
