package gate

// Waiting returns how many callers of Enter wait at the gate at present.
func (g *InputGate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}
