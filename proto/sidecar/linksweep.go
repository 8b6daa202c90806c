package sidecar

import (
	"context"
	"time"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// maxSweepPeriod is how late the link's own deadline may be at most.
const maxSweepPeriod = time.Second

// sweepPeriod returns how often a link looks for calls that have expired.
func (l *Link) sweepPeriod() time.Duration { return min(l.timeout/16, maxSweepPeriod) }

// sweepLaterLocked has the sweeper run if p is the first call that it has to look at.
func (s *linkStream) sweepLaterLocked(p *pendingCall) {
	if p.expires.IsZero() || s.sweeping {
		return
	}
	s.sweeping = true
	if s.sweeper == nil {
		s.sweeper = time.AfterFunc(s.link.sweepPeriod(), s.sweep)
		return
	}
	s.sweeper.Reset(s.link.sweepPeriod())
}

// sweep fails the calls that have expired, and tells the host.
func (s *linkStream) sweep() {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	now, more := time.Now(), false
	for id, p := range s.calls {
		switch {
		case p.expires.IsZero():
		case now.Before(p.expires):
			more = true
		default:
			delete(s.calls, id)
			s.pushLocked(&dopb.CallerFrame{CallId: id, Frame: &dopb.CallerFrame_Cancel{Cancel: &dopb.Cancel{}}})
			p.settled <- settlement{err: FromError(context.DeadlineExceeded)}
		}
	}
	if s.sweeping = more; more {
		s.sweeper.Reset(s.link.sweepPeriod())
	}
}
