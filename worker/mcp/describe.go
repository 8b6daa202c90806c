package mcp

import (
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/worker/auth"
)

// maxAttributeBytes bounds what a client says of itself on a span.
const maxAttributeBytes = 256

// describeRequest sets the attributes that are known before authentication.
func (c *call) describeRequest() {
	if !c.span.Sampled() {
		return
	}
	id := c.r.Header.Get(props.HeaderSessionID)
	c.span.SetString(telemetry.AttrMCPMethod, c.r.Method)
	c.span.SetBool(telemetry.AttrMCPSessionPresent, id != "")
	if id != "" {
		c.span.SetString(telemetry.AttrMCPSessionID, bounded(id))
	}
}

// describeVerdict sets the attributes of the authentication.
func (c *call) describeVerdict(v auth.Verdict) {
	if !c.span.Sampled() {
		return
	}
	c.span.SetBool(telemetry.AttrMCPHasBearer, v.HasBearer())
	c.span.SetBool(telemetry.AttrMCPVerified, v.Authenticated())
	c.span.SetString(telemetry.AttrMCPAuthOutcome, v.Outcome.String())
	if v.AccountID != "" {
		c.span.SetString(telemetry.AttrMCPAccountID, v.AccountID)
		c.span.SetString(telemetry.AttrMCPOrganizationID, v.OrganizationID)
	}
}

// describeMessage sets the attributes of the JSON-RPC message.
func (c *call) describeMessage() {
	if !c.span.Sampled() {
		return
	}
	for _, a := range [...]struct{ key, value string }{
		{telemetry.AttrMCPRPCMethod, c.message.method},
		{telemetry.AttrMCPRPCID, c.message.id},
		{telemetry.AttrMCPToolName, c.message.tool},
		{telemetry.AttrMCPClientName, c.message.client.Name},
		{telemetry.AttrMCPClientVersion, c.message.client.Version},
	} {
		if a.value != "" {
			c.span.SetString(a.key, bounded(a.value))
		}
	}
}

// bounded cuts a client's text; the span replaces what the cut leaves of a character.
func bounded(s string) string { return s[:min(len(s), maxAttributeBytes)] }
