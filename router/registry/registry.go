package registry

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// TTL is how long a process counts as alive after it has registered.
	TTL = 10 * time.Second
	// RestartTime is how long a Worker whose last process has gone counts as one that may come back at once.
	RestartTime = 10 * time.Second

	// MaxWorkers is how many Workers may be known at a time.
	MaxWorkers = 1000
	// MaxProcesses is how many processes one Worker may have.
	MaxProcesses = 64
	// MaxTotal is how many processes there may be of all Workers.
	MaxTotal = 4000
)

// ErrFull is returned by Register for a Worker or a process too many.
var ErrFull = errors.New("the registry of Workers is full")

// Process is one process of a Worker.
type Process struct {
	// Worker is the Worker's name, Incarnation the start of its process.
	Worker, Incarnation string
	// Address is where it serves, a gRPC target.
	Address string
	// Entrypoints are the names that its script exports.
	Entrypoints []string
}

// Presence is what is known of a Worker's processes.
type Presence int

const (
	// Absent: none is known.
	Absent Presence = iota
	// Restarting: the last one has gone within RestartTime.
	Restarting
	// Present: there are some.
	Present
)

// worker is what is known of one Worker. One without processes is kept until its time.
type worker struct {
	// processes are by incarnation.
	processes map[string]*process
	// gone is when the last of them went; it counts while there are none.
	gone time.Time
}

type process struct {
	Process
	expires time.Time
}

// Table is the registry.
type Table struct {
	workers map[string]*worker
	// total counts the processes.
	total int
}

// New returns an empty table.
func New() *Table { return &Table{workers: map[string]*worker{}} }

// Register makes a process known, or renews its lease. One that serves where another did takes that one's place: an
// address belongs to one process at a time. It returns ErrFull.
func (t *Table) Register(now time.Time, p Process) error {
	t.Expire(now)
	w := t.workers[p.Worker]
	if w != nil {
		if have := w.processes[p.Incarnation]; have != nil {
			have.Process, have.expires = p, now.Add(TTL)
			return nil
		}
	}
	t.vacate(now, p.Address)
	switch {
	case w == nil && len(t.workers) >= MaxWorkers:
		return fmt.Errorf("%w: %d Workers are known", ErrFull, len(t.workers))
	case w != nil && len(w.processes) >= MaxProcesses:
		return fmt.Errorf("%w: the Worker has %d processes", ErrFull, len(w.processes))
	case t.total >= MaxTotal:
		return fmt.Errorf("%w: %d processes are known", ErrFull, t.total)
	}
	if w == nil {
		w = &worker{processes: map[string]*process{}}
		t.workers[p.Worker] = w
	}
	w.processes[p.Incarnation] = &process{Process: p, expires: now.Add(TTL)}
	t.total++
	return nil
}

// vacate removes who is known at an address.
func (t *Table) vacate(now time.Time, address string) {
	for _, w := range t.workers {
		for _, p := range w.processes {
			if p.Address == address {
				t.remove(now, w, p)
			}
		}
	}
}

func (t *Table) remove(now time.Time, w *worker, p *process) {
	delete(w.processes, p.Incarnation)
	w.gone = now
	t.total--
}

// Unregister removes a process, and reports whether it was known.
func (t *Table) Unregister(now time.Time, name, incarnation string) bool {
	w := t.workers[name]
	if w == nil || w.processes[incarnation] == nil {
		return false
	}
	t.remove(now, w, w.processes[incarnation])
	return true
}

// Expire removes the processes whose leases are due at now, which it returns in order, and forgets Workers that have
// been gone for long.
func (t *Table) Expire(now time.Time) (gone []Process) {
	for name, w := range t.workers {
		for _, p := range w.processes {
			if !now.Before(p.expires) {
				gone = append(gone, p.Process)
				t.remove(now, w, p)
			}
		}
		if len(w.processes) == 0 && now.Sub(w.gone) >= RestartTime {
			delete(t.workers, name)
		}
	}
	sortProcesses(gone)
	return gone
}

// Find returns a Worker's processes by incarnation, as of the last Expire.
func (t *Table) Find(name string) ([]Process, Presence) {
	w := t.workers[name]
	if w == nil {
		return nil, Absent
	}
	if len(w.processes) == 0 {
		return nil, Restarting
	}
	list := make([]Process, 0, len(w.processes))
	for _, p := range w.processes {
		list = append(list, p.Process)
	}
	sortProcesses(list)
	return list, Present
}

// List returns all processes, by the names of their Workers and then by incarnation.
func (t *Table) List() []Process {
	list := make([]Process, 0, t.total)
	for _, w := range t.workers {
		for _, p := range w.processes {
			list = append(list, p.Process)
		}
	}
	sortProcesses(list)
	return list
}

func sortProcesses(list []Process) {
	slices.SortFunc(list, func(a, b Process) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Incarnation, b.Incarnation))
	})
}
