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
// pauses where a policy asks for approval. From its first pause on the execution keeps, on disk, the program, each call
// that it makes before the call has an effect, and what the call came to; one that never paused has no id that anyone
// could come back with and leaves nothing behind. A program that is paused for longer than a grace gives its process
// back. When its pause is answered, by a client that found the host again or took its time, the program is run again:
// the sandbox gives it the same clock and randomness, its calls are answered from what is kept, and where it paused it
// goes on. A program that makes another call, or none, than the one that is kept has diverged and ends.
//
// A call that had begun and of which it is not known what it came to is not made again, unless its tool only reads: it
// answers the error outcome_unknown. What is kept of a program is bounded; one that goes beyond keeps its process while
// it is paused, and is lost with it.
//
// A Policies object holds the rules of one organization and decides, for one tool call at a time, whether it may run. A
// Sources object (package sources) has its sources of tools: an Execution looks their tools up there and has them called.
//
// Guarantees: a session id is not given out before its meta is on disk; a paused execution is not told of before its
// journal is; a pause is approved at most once, and an approval never counts for another pause, whatever is resent or
// restarted; a call with effects is made at most once, whatever is lost after the first pause; a failure of the sandbox
// is an outcome, never a hang. Not guaranteed: that a program which has not paused survives its host or its sandbox.
//
// Methods of the instances run in turns of their objects. The handlers of the MCP server and the loop of a program run
// on goroutines of their own and enter a turn (State.Enter) to touch an instance.
package mcpsession
