// Package mcpsession is the MCP application: the Durable Object classes Session, Execution and Policies, written in Go
// against the public class API and nothing else of the host.
//
//	worker ──fetch──► Session ──call──► Execution ──gRPC──► sandbox
//	   │              (go-sdk)              │
//	   └──call──► Policies ◄──────call──────┘
//
// A Session is one MCP client's state: its meta (owner, organization, elicitation mode, initialize parameters) is
// durable from initialize to DELETE, its runtime (the SDK's server session, streams, events kept for resumption) lives
// in memory from the first use until an alarm finds it idle, and is made anew by the next request.
//
// An Execution is one execute call. Its program runs in a sandbox, detached from the request that started it, and
// pauses where a policy asks for approval. Its journal is durable from its first pause on; an execution that never
// paused has no id that anyone could come back with and leaves nothing behind.
//
// A Policies object holds the rules of one organization and decides, for one tool call at a time, whether it may run.
//
// Guarantees: a session id is not given out before its meta is on disk; a paused execution is not told of before its
// journal is; a pause is approved at most once, and an approval never counts for another pause, whatever is resent or
// restarted; a failure of the sandbox is an outcome, never a hang. Not guaranteed: that a program survives its host.
// Such an execution answers that it has expired.
//
// Methods of the instances run in turns of their objects. The handlers of the MCP server and the loop of a program run
// on goroutines of their own and enter a turn (State.Enter) to touch an instance.
package mcpsession
