// Package lifetime has the context of something short: a call, an event, a turn. It ends with its parent, at its
// deadline, or when its owner ends it, as the contexts of the standard library do, and costs a fraction of theirs
// while nobody waits for its end. Most calls are over before anybody does: they need no channel, no timer and no place
// among their parent's children.
//
// A Context may be used from any goroutine once Begin has returned. Its owner must end it.
//
// For the end of what lasts longer there is Group, which waits for goroutines and lets none begin after it.
package lifetime
