package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/host"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
)

// world is one history: a plan that is being run.
type world struct {
	plan plan
	// tracing keeps a trace.
	tracing bool
	rnd     *rand.Rand
	host    *running
	// over ends when all hosts and callers have.
	over sync.WaitGroup

	mu sync.Mutex // guards all that follows
	// generation counts the hosts; what those before the last one do does not count.
	generation int
	objects    map[string]*object
	calls      []*call
	ids        int
	// fault is what went wrong first; trace is what happened.
	fault string
	trace []string
	start time.Time
	// operations counts turns that ran to their end.
	operations int
}

// call is one call of an object.
type call struct {
	to      *object
	program program
	// from and rests are the calling object, and its commit that the call rests on; nil for a caller outside.
	from  *object
	rests int
	// arrived is the call's number among those that came to its object from outside, in their order, or zero.
	arrived int
	// rest is the commit that the call's reply rests on, ran says that it began.
	rest int
	ran  bool
}

func newWorld(p plan, tracing bool) *world {
	w := &world{plan: p, tracing: tracing, rnd: rand.New(rand.NewPCG(p.seed, 1)), objects: map[string]*object{},
		start: time.Now()}
	for i := range objectCount {
		name := fmt.Sprint("o", i)
		w.objects[name] = &object{w: w, name: name, commits: []commit{{state: state{values: map[string]string{}}}}}
	}
	return w
}

// object returns an object's model.
func (w *world) object(name string) *object { return w.objects[name] }

// failf notes what went wrong. mu is held.
func (w *world) failf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.tracef("FAULT %s", text)
	if w.fault == "" {
		w.fault = text
	}
}

// tracef notes what happened. mu is held.
func (w *world) tracef(format string, args ...any) {
	if w.tracing {
		w.trace = append(w.trace, fmt.Sprintf("%14v  ", time.Since(w.start))+fmt.Sprintf(format, args...))
	}
}

// note is tracef for callers without mu.
func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tracef(format, args...)
}

// failed reports whether anything went wrong.
func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fault != ""
}

// nextID returns a number that was not used before. mu is held.
func (w *world) nextID() int {
	w.ids++
	return w.ids
}

// value returns a value that was not written before.
func (w *world) value() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprint("v", w.nextID())
}

func (w *world) current() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.generation
}

// rest returns what leaves an instance's object now rests on, newest its last commit.
func (w *world) rest(i *instance) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return i.object.rest()
}

func (w *world) newest(i *instance) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return i.object.last().id
}

// register makes a call known by a number.
func (w *world) register(c *call) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, c)
	return len(w.calls) - 1
}

func (w *world) call(id int) *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[id]
}

// running is a host with its disk.
type running struct {
	w          *world
	generation int
	disk       *disk
	store      *storage.Store
	host       *host.Host
	router     *grpc.ClientConn
	epoch      uint64
	stop       context.CancelFunc
	// ended is closed when Serve and what belongs to it has, with err.
	ended chan struct{}
	err   error
}

// open starts a host on a disk and waits until it takes calls.
func (w *world) open(files *vfs.MemFS) error {
	w.mu.Lock()
	w.generation++
	r := &running{w: w, generation: w.generation, epoch: uint64(w.generation), ended: make(chan struct{})}
	for _, o := range w.objects {
		o.retryAt, o.arrived, o.started, o.mayHaveBroken = time.Time{}, 0, 0, false
	}
	w.mu.Unlock()
	r.disk = &disk{MemFS: files, rnd: rand.New(rand.NewPCG(w.plan.seed, uint64(w.generation))), delay: w.plan.syncDelay}
	var err error
	r.store, err = storage.Open(storage.Options{
		Dir: "store", FS: errorfs.Wrap(files, r.disk), CacheBytes: 1 << 16,
	})
	if err != nil {
		return err
	}
	r.router, err = sidecar.Dial("passthrough:///nobody", grpc.WithUnaryInterceptor(r.route))
	if err != nil {
		return err
	}
	r.host, err = host.New(host.Options{
		Address: "here", Router: r.router, Worker: worker, Classes: []durableobject.Class{w.class(r.generation)},
	}, r.store)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	w.over.Go(func() {
		defer close(r.ended)
		r.err = r.host.Serve(ctx, newNoListener(), false)
		r.disk.set(func(d *disk) { d.quick, d.failWrites, d.failSyncs = true, false, false })
		r.err = errors.Join(r.err, r.store.Close(), r.router.Close())
	})
	w.host = r
	return r.awaitJoined()
}

// awaitJoined waits until the host knows its epoch: it refuses a call of no class for another reason then.
func (r *running) awaitJoined() error {
	for range 1000 {
		_, err := r.host.Call(context.Background(), sidecar.Target{Namespace: "none", Epoch: r.epoch}, "", nil)
		if e := sidecar.FromError(err); e.Reason == sidecar.ReasonNoSuchClass {
			r.disk.set(func(d *disk) { d.quick = false })
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return errors.New("host does not join")
}

// route answers as a router would whose only host this is.
func (r *running) route(_ context.Context, method string, _, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker,
	_ ...grpc.CallOption,
) error {
	switch reply := reply.(type) {
	case *routerpb.JoinResponse:
		reply.Epoch, reply.LeaseTtl = r.epoch, durationpb.New(time.Hour)
	case *routerpb.LocateResponse:
		reply.HostId, reply.Address, reply.Epoch = r.store.HostID(), "here", r.epoch
	case *routerpb.RenewResponse, *routerpb.LeaveResponse:
	default:
		return fmt.Errorf("unexpected call of the router: %s", method)
	}
	return nil
}

// noListener is the address of a host that is called in process only.
type noListener struct{ closed chan struct{} }

func newNoListener() noListener { return noListener{make(chan struct{})} }

func (l noListener) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

func (l noListener) Close() error {
	close(l.closed)
	return nil
}

func (l noListener) Addr() net.Addr { return &net.UnixAddr{Name: "nobody", Net: "unix"} }

// compute takes time, as code does that does not wait.
func compute(d time.Duration) { time.Sleep(d) }

// disk is slow to sync the log, and fails when told to. It is an errorfs.Injector.
type disk struct {
	*vfs.MemFS

	mu  sync.Mutex // guards all that follows
	rnd *rand.Rand
	// delay is how long a sync takes, at most; quick says that it takes no time.
	delay time.Duration
	quick bool
	// failWrites and failSyncs make the log fail.
	failWrites, failSyncs bool
}

func (d *disk) set(f func(*disk)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d)
}

func (d *disk) String() string { return "disk" }

// MaybeError implements errorfs.Injector.
func (d *disk) MaybeError(op errorfs.Op) error {
	if !strings.HasSuffix(op.Path, ".log") {
		return nil
	}
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		var delay time.Duration
		d.set(func(d *disk) {
			if !d.quick {
				delay = time.Duration(d.rnd.Int64N(int64(d.delay)))
			}
		})
		if delay > 0 {
			time.Sleep(delay)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.failSyncs {
			return errorfs.ErrInjected
		}
	case errorfs.OpFileWrite:
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.failWrites {
			return errorfs.ErrInjected
		}
	}
	return nil
}

// crash leaves the host to itself and starts another one on what it has left on the disk.
func (w *world) crash(percent int) error {
	old := w.host
	clone := w.abandon(old, percent)
	old.disk.set(func(d *disk) { d.quick = true })
	old.stop()
	if err := w.open(clone); err != nil {
		return err
	}
	return w.dump()
}

// abandon clones the disk as a crash at this moment would leave it. What the host does from here on does not count.
func (w *world) abandon(old *running, percent int) *vfs.MemFS {
	w.mu.Lock()
	defer w.mu.Unlock()
	clone := old.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: w.rnd})
	w.generation++
	for _, o := range w.objects {
		o.crashed = true
	}
	return clone
}

// restart ends the host in order and starts another one on the same disk.
func (w *world) restart() error {
	w.mu.Lock()
	for _, o := range w.objects {
		o.risk()
	}
	w.mu.Unlock()
	w.host.stop()
	<-w.host.ended
	if err := w.host.err; err != nil {
		return fmt.Errorf("host ended: %w", err)
	}
	if err := w.open(w.host.disk.MemFS); err != nil {
		return err
	}
	return w.dump()
}

// failDisk has the next write or sync fail. The host ends when it meets that, and another one is started.
func (w *world) failDisk(s step) error {
	w.mu.Lock()
	for _, o := range w.objects {
		o.risk()
	}
	w.mu.Unlock()
	w.host.disk.set(func(d *disk) { d.failWrites, d.failSyncs = s.onWrite, !s.onWrite })
	select {
	case <-w.host.ended:
	case <-time.After(20 * time.Millisecond): // nobody wrote
	}
	return w.crash(s.percent)
}

// dump has all objects read what they have, and checks that what was kept is a prefix of all commits.
func (w *world) dump() error {
	for i := range objectCount {
		if err := w.wake(i); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.objects {
		for _, b := range w.objects {
			if !b.lost.IsZero() && a.kept.After(b.lost) {
				w.failf("%s has kept a commit of %v, %s has lost one of %v", a.name, a.kept, b.name, b.lost)
			}
		}
	}
	return nil
}

// wake calls an object with an empty program, which makes its instance.
func (w *world) wake(i int) error {
	c := &call{to: w.object(fmt.Sprint("o", i))}
	_, err := w.deliver(context.Background(), c, w.register(c), 0)
	return err
}

// deliver makes a call, under an epoch that is older than the host's by stale.
func (w *world) deliver(ctx context.Context, c *call, id int, stale uint64) (int, error) {
	args, err := v8value.MarshalArguments(id)
	if err != nil {
		return 0, err
	}
	ids := objectid.NewNamespace(namespace)
	t := sidecar.Target{
		Namespace: namespace, ID: ids.FromName(c.to.name), Name: c.to.name, HasName: true, Epoch: w.host.epoch - stale,
	}
	value, err := w.host.host.Call(ctx, t, "run", args)
	if err != nil {
		return 0, err
	}
	rest := 0
	return rest, v8value.Unmarshal(value, &rest)
}

// send makes a call as a worker does, without waiting for its end.
func (w *world) send(s step) {
	c := &call{to: w.object(fmt.Sprint("o", s.object)), program: s.program}
	id := w.register(c)
	w.mu.Lock()
	c.to.arrived++
	c.arrived = c.to.arrived
	generation := w.generation
	w.mu.Unlock()
	w.over.Go(func() {
		ctx := context.Background()
		if s.cancel > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, s.cancel)
			defer cancel()
		}
		var stale uint64
		if s.kind == stepStale {
			stale = 1
		}
		rest, err := w.deliver(ctx, c, id, stale)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.generation == generation {
			w.tracef("caller of %d is told: %d, %v", id, rest, err)
			w.told(c, s, rest, err)
		}
	})
}

// told checks what a caller was told. mu is held.
func (w *world) told(c *call, s step, rest int, err error) {
	e := &sidecar.Error{}
	switch {
	case s.kind == stepStale:
		if !errors.As(err, &e) || e.Reason != sidecar.ReasonStaleEpoch || c.ran {
			w.failf("%s: call with an old epoch ran: %v, error: %v", c.to.name, c.ran, err)
		}
		return
	case err == nil:
		c.to.ack(rest, "a caller")
		w.operations++
		return
	case !errors.As(err, &e):
		w.failf("%s: a caller got an error of another type: %v", c.to.name, err)
		return
	}
	explained := false
	switch e.Reason {
	case sidecar.ReasonException:
		explained = true
		w.operations++
		if !e.Reset && !c.to.mayHaveBroken {
			c.to.ack(c.rest, "a caller, by an error,")
		}
	case sidecar.ReasonCanceled, sidecar.ReasonDeadline:
		explained = s.cancel > 0
	case sidecar.ReasonBroken, sidecar.ReasonStorage, sidecar.ReasonDraining:
		explained = c.to.mayHaveBroken
	}
	if !explained {
		w.failf("%s: a caller got an error without a cause: %v (%v)", c.to.name, err, e.Reason)
	}
}

// run takes the steps of the plan and then brings the history to its end.
func (w *world) run() {
	err := w.open(vfs.NewCrashableMem())
	for _, s := range w.plan.steps {
		if err != nil || w.failed() {
			break
		}
		err = w.take(s)
		synctest.Wait()
	}
	if err == nil && !w.failed() {
		err = w.finish()
	}
	if err != nil {
		w.mu.Lock()
		w.failf("history broke off: %v", err)
		w.mu.Unlock()
	}
	if w.host != nil {
		w.host.stop()
	}
	w.over.Wait()
}

// take takes one step.
func (w *world) take(s step) error {
	w.note("STEP %v", s)
	switch s.kind {
	case stepCall, stepStale:
		w.send(s)
	case stepAdvance:
		time.Sleep(s.wait)
	case stepCrash:
		return w.crash(s.percent)
	case stepDiskFault:
		return w.failDisk(s)
	case stepRestart:
		return w.restart()
	}
	return nil
}

// finish lets everything come to rest: all callers have their answers, all alarms have run. Nothing may be lost then,
// even by a crash that takes all that it can.
func (w *world) finish() error {
	w.note("FINISH")
	time.Sleep(2 * time.Minute) // longer than critical sections that wait for each other
	if err := w.dump(); err != nil {
		return err
	}
	for range 60 {
		if !w.alarmsLeft() {
			break
		}
		time.Sleep(10 * time.Second)
	}
	if w.alarmsLeft() {
		return errors.New("an alarm does not run")
	}
	if w.failed() {
		return nil
	}
	w.mu.Lock()
	for _, o := range w.objects {
		if !o.mayBreak {
			o.acked = o.last().id
		}
	}
	w.mu.Unlock()
	return w.crash(0)
}

func (w *world) alarmsLeft() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.objects {
		if !o.last().alarm.at.IsZero() {
			return true
		}
	}
	return false
}
