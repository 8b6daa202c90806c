package mcpsession

import "time"

// The statuses of a reply, as structuredContent.status gives them.
const (
	statusCompleted      = "completed"
	statusError          = "error"
	statusWaiting        = "waiting_for_interaction"
	statusNotFound       = "execution_not_found"
	statusExpired        = "execution_expired"
	statusForbidden      = "execution_forbidden"
	statusAlreadySettled = "execution_already_settled"
)

// The methods of an execution object.
const (
	// methodExecute takes executeRequest and returns reply at the first pause or the end of the program.
	methodExecute = "execute"
	// methodResume takes resumeRequest and returns reply likewise.
	methodResume = "resume"
	// methodAwait takes awaitRequest and returns reply: that of a resume once the pause is answered on its page, or the
	// pause when it still is pending after pageWait.
	methodAwait = "await"
	// methodExpire takes expireRequest and returns whether the pause was pending; it ends the execution then.
	methodExpire = "expire"
)

// executeRequest starts a program.
type executeRequest struct {
	// ID is the execution's, with pause 0.
	ID string `json:"id"`
	// Code is the program.
	Code string `json:"code"`
	// Asker says who will ask for approvals.
	Asker asker `json:"asker"`
	// Admitted is true if the organization's usage object counts it already.
	Admitted bool `json:"admitted,omitempty"`
}

// asker says for whom an execution asks for approvals, and where. It is kept with the execution.
type asker struct {
	// Client is the MCP client that started it, as it calls itself; empty if it does not.
	Client string `json:"client,omitempty"`
	// Approvals is the address of the approval page but for the id of the pause. Empty: the client asks.
	Approvals string `json:"approvals,omitempty"`
	// Session is true if the client has a session: its pauses expire with the session's runtime.
	Session bool `json:"session,omitempty"`
}

// resumeRequest answers a pause.
type resumeRequest struct {
	// ID names the pause.
	ID string `json:"id"`
	// Action is one of the actions of the resume tool; empty to be told of the pause again.
	Action string `json:"action"`
	// Content is what a person filled in, as a JSON object; empty when there is none.
	Content []byte `json:"content"`
	// byPage is set where the approval page answers. It does not come over the wire.
	byPage bool
}

// awaitRequest waits for the answer to a pause.
type awaitRequest struct {
	// ID names the pause.
	ID string `json:"id"`
}

// expireRequest ends a pause that nobody can answer any more.
type expireRequest struct {
	// ID names the pause.
	ID string `json:"id"`
}

// reply is what execute and resume come to.
type reply struct {
	// Status says which of the other fields are set.
	Status string `json:"status"`
	// Outcome is how the program ended, with statusCompleted and statusError.
	Outcome *outcome `json:"outcome"`
	// Pause is what the program waits for, with statusWaiting.
	Pause *pause `json:"pause"`
	// Replayed is true when an earlier call had this reply already, Joined when this call waited with another.
	Replayed bool `json:"replayed"`
	Joined   bool `json:"joined"`
}

// outcome is how a program ended.
type outcome struct {
	// Result is the returned value as JSON; empty for undefined. IsString is true when it is a string.
	Result   []byte `json:"result"`
	IsString bool   `json:"isString"`
	// Error is the message of a failure; empty when the program completed.
	Error string `json:"error"`
	// Logs are the console's lines, Emitted the values given to emit, as JSON.
	Logs    []string `json:"logs"`
	Emitted [][]byte `json:"emitted"`
}

// size returns roughly how many bytes an outcome takes in storage.
func (o *outcome) size() int {
	n := len(o.Result) + len(o.Error)
	for _, l := range o.Logs {
		n += len(l)
	}
	for _, e := range o.Emitted {
		n += len(e)
	}
	return n
}

// reply returns the reply that an outcome makes.
func (o *outcome) reply() reply {
	if o.Error != "" {
		return reply{Status: statusError, Outcome: o}
	}
	return reply{Status: statusCompleted, Outcome: o}
}

// pause is a tool call that waits for approval.
type pause struct {
	// ID names the pause.
	ID string `json:"id"`
	// Call is the number of the call among those of its program. Tool and Arguments are the call, Arguments as JSON.
	Call      uint64 `json:"call,omitempty"`
	Tool      string `json:"tool"`
	Arguments []byte `json:"arguments"`
	// PolicyID and Pattern name the policy that asks for the approval.
	PolicyID string `json:"policyId"`
	Pattern  string `json:"pattern"`
	// Owner is whose policy that is: OwnerOrganization or OwnerUser.
	Owner string `json:"owner,omitempty"`
	// Client is the MCP client for which the program runs; empty if it is not known.
	Client string `json:"client,omitempty"`
	// ApprovalURL is the page on which a person answers. With it only an answer given there accepts; without it the
	// client's does.
	ApprovalURL string `json:"approvalUrl,omitempty"`
	// Deadline is when the execution expires.
	Deadline time.Time `json:"deadline"`
	// Answer is the action that answered it, and ByPage whether that was given on the page; empty while it is pending.
	Answer string `json:"answer,omitempty"`
	ByPage bool   `json:"byPage,omitempty"`
}

// failed returns an outcome that is an error with a message.
func failed(message string) *outcome { return &outcome{Error: message} }
