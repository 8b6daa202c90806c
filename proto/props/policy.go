package props

import "time"

// Methods of a policies object, one object per organization, named by the organization's ID.
const (
	// MethodPoliciesList takes PolicyQuery, returns []Policy: those of the organization and of the account,
	// by owner and position.
	MethodPoliciesList = "list"
	// MethodPoliciesCreate takes PolicyCreate, returns Policy.
	MethodPoliciesCreate = "create"
	// MethodPoliciesUpdate takes PolicyUpdate, returns Policy.
	MethodPoliciesUpdate = "update"
	// MethodPoliciesRemove takes PolicyRemove, returns PolicyRemoved.
	MethodPoliciesRemove = "remove"
	// MethodPoliciesDecide takes PolicyDecide, returns PolicyDecision.
	MethodPoliciesDecide = "decide"
)

// Names of the errors that the methods above throw (sidecar.Error.Name).
const (
	// ErrorNameInvalid: the arguments are wrong; the message says what.
	ErrorNameInvalid = "InvalidArgument"
	// ErrorNameNotFound: there is no such policy for this owner.
	ErrorNameNotFound = "NotFound"
	// ErrorNameLimit: the owner has as many policies as allowed.
	ErrorNameLimit = "LimitExceeded"
)

// Owners of a policy.
const (
	OwnerOrganization = "org"
	OwnerUser         = "user"
)

// Actions of a policy, from the least to the most restrictive.
const (
	ActionApprove         = "approve"
	ActionRequireApproval = "require_approval"
	ActionBlock           = "block"
)

// Policy is one rule on tool calls.
type Policy struct {
	// ID is "pol_" and a UUID.
	ID string `json:"id"`
	// Owner is OwnerOrganization or OwnerUser.
	Owner string `json:"owner"`
	// Pattern is "*", an exact tool id, one with "*" for a middle segment, or one with a trailing ".*".
	Pattern string `json:"pattern"`
	// Action is what happens to a call that matches.
	Action string `json:"action"`
	// Position orders the policies of one owner, from 0; the first match counts.
	Position int `json:"position"`
	// CreatedAt and UpdatedAt are in UTC.
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// PolicyQuery asks for the policies that an account sees.
type PolicyQuery struct {
	AccountID string `json:"accountId"`
}

// PolicyCreate adds a policy at the end of its owner's list.
type PolicyCreate struct {
	AccountID string `json:"accountId"`
	Owner     string `json:"owner"`
	Pattern   string `json:"pattern"`
	Action    string `json:"action"`
}

// PolicyUpdate changes the fields that are set.
type PolicyUpdate struct {
	AccountID string  `json:"accountId"`
	ID        string  `json:"id"`
	Owner     string  `json:"owner,omitempty"`
	Pattern   *string `json:"pattern,omitempty"`
	Action    *string `json:"action,omitempty"`
	Position  *int    `json:"position,omitempty"`
}

// PolicyRemove removes a policy.
type PolicyRemove struct {
	AccountID string `json:"accountId"`
	ID        string `json:"id"`
	Owner     string `json:"owner"`
}

// PolicyRemoved confirms it.
type PolicyRemoved struct {
	Removed bool `json:"removed"`
}

// PolicyDecide asks what holds for one call of a tool.
type PolicyDecide struct {
	AccountID string `json:"accountId"`
	Tool      string `json:"tool"`
}

// PolicyDecision says it. Action is empty when no policy matches; else Policy is the one that decided.
type PolicyDecision struct {
	Action string  `json:"action"`
	Policy *Policy `json:"policy,omitempty"`
}
