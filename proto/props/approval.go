package props

import (
	"errors"
	"regexp"
	"time"
)

// Methods of an execution object that the approval page calls, with the identity of the person as props.
const (
	// MethodExecutionPause takes PauseQuery, returns PauseView.
	MethodExecutionPause = "pause"
	// MethodExecutionAnswer takes PauseAnswer, returns PauseView: how the pause is answered, which may be as somebody else
	// had answered it before. It may be resent.
	MethodExecutionAnswer = "answer"
)

// HeaderApprovals is the address of the approval page but for the id of the pause. The worker sets it on requests with
// ElicitationBrowser.
const HeaderApprovals = "Tandem-Approvals"

// What has become of a pause.
const (
	// PausePending: it waits for its answer.
	PausePending = "pending"
	// PauseAnswered: it was answered.
	PauseAnswered = "answered"
	// PauseExpired: it was not answered in time.
	PauseExpired = "execution_expired"
	// PauseUnknown: there is no such pause, or it was long ago.
	PauseUnknown = "execution_not_found"
	// PauseForbidden: it is another account's or organization's. Nothing else of it is told.
	PauseForbidden = "execution_forbidden"
)

// PauseQuery asks for a pause.
type PauseQuery struct {
	// ID names the pause.
	ID string `json:"id"`
}

// PauseAnswer answers a pause.
type PauseAnswer struct {
	// ID names the pause.
	ID string `json:"id"`
	// Action is "accept" or "decline".
	Action string `json:"action"`
}

// PauseView is a pause as its owner sees it.
type PauseView struct {
	// Status is one of the Pause values. With PausePending all below is set; with others, what is still known.
	Status string `json:"status"`
	// Tool and Arguments are the call, Arguments as JSON.
	Tool      string `json:"tool,omitempty"`
	Arguments []byte `json:"arguments,omitempty"`
	// Pattern and PolicyOwner are of the policy that asks for approval.
	Pattern     string `json:"pattern,omitempty"`
	PolicyOwner string `json:"policyOwner,omitempty"`
	// Client is the MCP client for which the program runs, as it calls itself.
	Client string `json:"client,omitempty"`
	// Deadline is until when it can be answered.
	Deadline time.Time `json:"deadline,omitzero"`
	// Answer is the action that answered it: accept, decline or cancel. ByPage is true if the page gave it.
	Answer string `json:"answer,omitempty"`
	ByPage bool   `json:"byPage,omitempty"`
}

// pauseID is the form of the id of a pause: a UUID of version 8 whose last twelve digits are the number of the pause.
var pauseID = regexp.MustCompile(`^(exec_[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-)[0-9a-f]{12}$`)

// ErrPauseID is returned by ExecutionName.
var ErrPauseID = errors.New("props: not the id of a pause")

// ExecutionName returns the name of the execution object that has the pause with this id. Errors: ErrPauseID.
func ExecutionName(id string) (string, error) {
	m := pauseID.FindStringSubmatch(id)
	if m == nil {
		return "", ErrPauseID
	}
	return m[1] + "000000000000", nil
}
