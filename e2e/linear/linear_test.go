package linear

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	// clients call at once; each waits for its answer before it calls again.
	clients = 10
	// objects are called at the same time. After killsARound kills others are taken, since each call whose outcome is
	// unknown makes a history harder to check.
	objects     = 4
	killsARound = 5
	// callTimeout is how long a client waits for an answer: each call that it gives up makes a history harder to check.
	callTimeout = 20 * time.Second
	// defaultKills is how often the host is killed unless TANDEM_KILLS says, and shortKills with -short.
	defaultKills = 200
	shortKills   = 25
)

// history is what clients saw of one object.
type history struct {
	mu         sync.Mutex // guards operations
	operations []porcupine.Operation
}

func (h *history) add(o porcupine.Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, o)
}

// test is one run.
type test struct {
	t     *testing.T
	stack *stack
	seed  uint64
	start time.Time
	// told gets a value when a call was acknowledged, if there is room.
	told chan struct{}

	mu sync.Mutex // guards all that follows
	// round tells which objects are called, values makes values that were not written before.
	round, values int
	histories     map[string]*history
	// acknowledged, unknown and refused count calls.
	acknowledged, unknown, refused int
}

// TestKill kills the host at random moments while clients read and write, now and then the router with it, and checks what
// they saw.
func TestKill(t *testing.T) {
	kills := defaultKills
	if testing.Short() {
		kills = shortKills
	}
	if text := os.Getenv("TANDEM_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatalf("TANDEM_KILLS: %v", err)
		}
	}
	x := &test{
		t: t, stack: startStack(t), seed: uint64(time.Now().UnixNano()), start: time.Now(),
		histories: map[string]*history{}, told: make(chan struct{}, 1),
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() { x.client(ctx, i) })
	}
	rnd := rand.New(rand.NewPCG(x.seed, 0))
	for n := range kills {
		x.await(ctx, 50+rnd.IntN(400))
		pause(ctx, time.Duration(rnd.Int64N(int64(5*time.Millisecond))))
		if n%4 == 3 {
			x.stack.killRouter()
		}
		x.stack.killHost()
		if (n+1)%killsARound == 0 {
			x.await(ctx, 50) // what is left of the last kill is read
			x.mu.Lock()
			x.round++
			x.mu.Unlock()
		}
	}
	x.await(ctx, 100)
	stop()
	running.Wait()
	took := time.Since(x.start)
	x.check()
	t.Logf("%d kills in %.1f s; %d calls acknowledged, %d of unknown outcome, %d surely not run; %d objects; "+
		"checked in %.1f s; seed %d", kills, took.Seconds(), x.acknowledged, x.unknown, x.refused,
		len(x.histories), time.Since(x.start).Seconds()-took.Seconds(), x.seed)
}

// await waits until further calls were acknowledged.
func (x *test) await(ctx context.Context, further int) {
	x.t.Helper()
	limit := time.NewTimer(3 * time.Minute)
	defer limit.Stop()
	for ; further > 0; further-- {
		select {
		case <-x.told:
		case <-ctx.Done():
			return
		case <-limit.C:
			x.t.Fatal("calls are not answered any more")
		}
	}
}

// client makes one call after the other.
func (x *test) client(ctx context.Context, id int) {
	rnd := rand.New(rand.NewPCG(x.seed, uint64(id)+1))
	seen := map[string]values{}
	for ctx.Err() == nil {
		x.mu.Lock()
		object := fmt.Sprintf("round%d-object%d", x.round, rnd.IntN(objects))
		h := x.histories[object]
		if h == nil {
			h = &history{}
			x.histories[object] = h
		}
		x.mu.Unlock()
		if !x.call(context.WithoutCancel(ctx), id, object, h, x.choose(rnd, seen[object]), seen) {
			// Reads of unknown outcome do no harm: with them it waits until the host is back.
			for ctx.Err() == nil && !x.call(context.WithoutCancel(ctx), id, object, h, call{Method: "read"}, seen) {
				pause(ctx, 5*time.Millisecond)
			}
		}
	}
}

// choose makes up a call.
func (x *test) choose(rnd *rand.Rand, seen values) call {
	x.mu.Lock()
	x.values++
	c := call{Cell: rnd.IntN(cells), Value: x.values}
	x.mu.Unlock()
	switch n := rnd.IntN(100); {
	case n < 30:
		c.Method = "read"
	case n < 50:
		c.Method = "write"
	case n < 65:
		c.Method, c.Old = "compareAndSet", seen[c.Cell]
	case n < 80:
		c.Method = "fill"
	case n < 95:
		c.Method, c.To = "swap", rnd.IntN(cells)
	default:
		c.Method = "tryFill"
	}
	return c
}

// call makes one call, notes it, and reports whether it was answered.
func (x *test) call(ctx context.Context, id int, object string, h *history, c call, seen map[string]values) bool {
	began := time.Since(x.start).Nanoseconds()
	answer, failure := x.stack.send(ctx, object, c)
	o := porcupine.Operation{ClientId: id, Input: c, Call: began, Return: time.Since(x.start).Nanoseconds()}
	r := result{Unknown: failure == unknown}
	if failure == "" {
		var err error
		if c.Method == "read" {
			err = json.Unmarshal(answer, &r.Values)
			seen[object] = r.Values
		} else {
			err = json.Unmarshal(answer, &r.Done)
		}
		if err != nil {
			x.t.Errorf("%s: %v: %s", c.Method, err, answer)
		}
	}
	if r.Unknown {
		o.Return = math.MaxInt64
	}
	o.Output = r
	x.count(failure)
	if failure != notRun && (c.Method != "read" || !r.Unknown) {
		h.add(o)
	}
	return failure == ""
}

// count counts a call's outcome.
func (x *test) count(failure string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch failure {
	case "":
		x.acknowledged++
		select {
		case x.told <- struct{}{}:
		default:
		}
	case unknown:
		x.unknown++
	default:
		x.refused++
	}
}

// check looks for an order that explains what was seen, for each object.
func (x *test) check() {
	for name, h := range x.histories {
		const limit = 5 * time.Minute
		switch porcupine.CheckOperationsTimeout(registers(), h.operations, limit) {
		case porcupine.Ok:
		case porcupine.Unknown:
			x.t.Errorf("%s: not decided in %v, with %d calls; seed %d", name, limit, len(h.operations), x.seed)
		case porcupine.Illegal:
			_, info := porcupine.CheckOperationsVerbose(registers(), h.operations, limit)
			path := filepath.Join(os.TempDir(), "linear-"+name+".html") // it must outlive the test
			if err := porcupine.VisualizePath(registers(), info, path); err != nil {
				x.t.Error(err)
			}
			x.t.Errorf("%s: no order of its %d calls explains what clients saw, see %s; seed %d", name, len(h.operations),
				path, x.seed)
		}
	}
}
