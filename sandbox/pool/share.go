package pool

// pause moves a running program to the paused ones. It reports false when these are too many, and then the
// program goes on counting as one that runs.
func (p *Pool) pause(organization string) bool {
	p.mu.Lock()
	if p.paused >= p.o.Paused {
		p.mu.Unlock()
		return false
	}
	p.stoppedLocked(organization)
	p.paused++
	p.handOutLocked()
	p.mu.Unlock()
	p.poke()
	return true
}

// resume moves a paused program back. It does not wait, so that for a while more than Processes may run.
func (p *Pool) resume(organization string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused--
	p.startedLocked(organization)
}

// startedLocked notes that a program of an organization runs, with one more process than its share or not.
func (p *Pool) startedLocked(organization string) {
	if !p.mayRunLocked(organization) {
		p.excess++
	}
	p.running++
	p.runningOf[organization]++
}

// stoppedLocked notes that a program of an organization runs no more.
func (p *Pool) stoppedLocked(organization string) {
	p.running--
	p.runningOf[organization]--
	switch {
	case !p.mayRunLocked(organization):
		p.excess--
	case p.runningOf[organization] == 0:
		delete(p.runningOf, organization)
	}
}

// roomToRunLocked returns how many more programs may run. Those that went on after a pause beyond their organization's
// share are not at the expense of the others.
func (p *Pool) roomToRunLocked() int { return p.o.Processes - p.running + p.excess }

// mayRunLocked reports whether one more program of an organization may run. An eighth of the processes is for others:
// programs that wait for minutes would otherwise shut them out.
func (p *Pool) mayRunLocked(organization string) bool {
	return p.runningOf[organization] < p.o.Processes-p.o.Processes/8
}

// anyone lets every organization's turn come.
func anyone(string) bool { return true }
