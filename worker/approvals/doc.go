// Package approvals is the worker's page on which a person approves or declines a paused tool call: /approve/{id}, with
// the id of the pause.
//
// It holds nothing. The pause is in its execution's object, which checks that the person's account and organization own
// it; this package finds out who is there (package websession), asks the object, and shows what it says. To others than
// the owner it shows nothing of the call.
//
// A GET changes nothing. The answer is a form's POST, from a page of this worker and of the same session, and it leads
// back to the GET, which says how the call was answered: by this form, or by whoever was faster. What comes from programs
// and clients is shown as text: escaped, with invisible characters written out, and bounded, with a note where it is cut.
//
// The handler may be called from any goroutine.
package approvals
