package actor

import "context"

// Retire has the actor take no new events, which get ErrNotLive, and end by itself once nothing is under way in it. Timers
// that are set are not waited for. The channel is closed when it has ended; whoever does not want to wait breaks it. What
// its code has to say to itself, by way of others, waits for the next actor.
func (a *Actor) Retire() <-chan struct{} {
	a.mu.Lock()
	if a.retired == nil {
		a.retired = make(chan struct{})
		if a.reason != NotBroken {
			close(a.retired)
		}
	}
	ended := a.retired
	a.mu.Unlock()
	a.restIfRetired()
	return ended
}

// restIfRetired ends an actor that retires, if nothing is under way in it.
func (a *Actor) restIfRetired() {
	a.mu.Lock()
	if a.retired == nil || a.reason != NotBroken || a.active > a.held {
		a.mu.Unlock()
		return
	}
	onEnd := a.breakLocked(ReasonUpdated, UpdatedError())
	a.mu.Unlock()
	onEnd()
	a.in.Break(UpdatedError())
	a.out.Break(UpdatedError()) //nolint:errcheck // it returns what it was given
}

// awaitBefore waits, in the first turn, until the actor before this one has ended, and rests on what it wrote.
func (a *Actor) awaitBefore(ctx context.Context) error {
	a.mu.Lock()
	before := a.before
	a.mu.Unlock()
	if before == nil {
		return nil
	}
	select {
	case <-before.Retire():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if c := before.Last(); c != nil {
		a.rest(c)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.before = nil
	return nil
}
