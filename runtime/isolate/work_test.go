package isolate

import (
	"context"
	"errors"
	"testing"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/lifetime"
)

// workOf defines work(name), a promise of what the function of that name gives outside the isolate.
func workOf(outside map[string]func(ctx context.Context) string) func(*Isolate) error {
	return func(i *Isolate) error {
		return i.DefineGlobal("work", i.Function("work", 1, func(call goja.FunctionCall) goja.Value {
			f := outside[call.Argument(0).String()]
			return i.Go(func(ctx context.Context) func() (goja.Value, error) {
				text := f(ctx)
				return func() (goja.Value, error) { return i.Runtime().ToValue(text), nil }
			})
		}))
	}
}

const workModule = `
	let release;
	export const two = () => Promise.all([work("first"), work("second")]).then(String);
	export const chain = async () => (await work("quick")) + (await work("quick"));
	export const blocked = () => work("blocked");
	export const aware = () => work("aware");
	export const eitherAware = () => Promise.race([work("aware"), new Promise((r) => { release = r; })]);
	export const keep = () => work("keep");
	export const either = () => Promise.race([work("blocked"), new Promise((r) => { release = r; })]);
	export const late = () => Promise.race([work("blocked"), new Promise((r) => setTimeout(() => r("timer"), 1))]);
	export const free = () => release("free");`

// What an event waits for may be done by the goroutine that waits for the event. That shows nowhere.
func TestWorkOfTheGoroutineThatWaits(t *testing.T) {
	t.Parallel()
	kept := make(chan context.Context, 1)
	second, begun, ended := make(chan struct{}), make(chan struct{}, 8), make(chan struct{}, 8)
	i := newIsolate(t, workModule, Options{Install: []func(*Isolate) error{workOf(map[string]func(context.Context) string{
		"quick":  func(context.Context) string { return "q" },
		"first":  func(context.Context) string { <-second; return "1" },
		"second": func(context.Context) string { close(second); return "2" },
		"blocked": func(ctx context.Context) string {
			begun <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
			return "blocked"
		},
		"aware": func(ctx context.Context) string {
			if err := ctx.Err(); err != nil {
				return err.Error()
			}
			begun <- struct{}{}
			ends := lifetime.EndsOf(ctx)
			select {
			case <-ends[0]:
			case <-ends[1]:
			case <-ends[2]:
			}
			if ctx.Err() == nil {
				return "it ended without an error"
			}
			ended <- struct{}{}
			return "aware"
		},
		"keep": func(ctx context.Context) string { kept <- ctx; return "kept" },
	})}})
	want := func(name, want string) {
		t.Helper()
		if got, err := call(t, i, name); got != want || err != nil {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
	want("two", "1,2") // neither waits for the other
	want("chain", "qq")
	want("late", "timer") // a timer ends it, and the work with it
	<-begun
	<-ended

	errGone := errors.New("gone")
	for _, name := range []string{"blocked", "aware"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		result := make(chan error, 1)
		go func() {
			_, err := callIn(ctx, i.NewContext(ContextOptions{}), name)
			result <- err
		}()
		<-begun
		cancel(errGone)
		if err := <-result; !errors.Is(err, errGone) {
			t.Errorf("%s, and the caller went: %v", name, err)
		}
		<-ended
	}

	for _, name := range []string{"either", "eitherAware"} {
		settled := make(chan string, 1)
		go func() {
			text, err := callIn(t.Context(), i.NewContext(ContextOptions{}), name)
			if err != nil {
				text = err.Error()
			}
			settled <- text
		}()
		<-begun
		want("free", "undefined") // another event settles its promise
		if got := <-settled; got != "free" {
			t.Errorf("%s, settled by another event: got %q", name, got)
		}
		<-ended
	}

	// What keeps the context after the work has that of the event, which outlives its caller.
	ctx, cancel := context.WithCancel(t.Context())
	c := i.NewContext(ContextOptions{})
	c.Pend(1)
	c.BeginTask()
	if got, err := callIn(ctx, c, "keep"); got != "kept" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	cancel()
	after := <-kept
	if err := after.Err(); err != nil {
		t.Errorf("the caller went after the work: %v", err)
	}
	c.Close()
	<-after.Done()
	if ends := lifetime.EndsOf(after); ends[0] != after.Done() || after.Err() == nil {
		t.Errorf("the event's context has ended: %v", after.Err())
	}

	closing := make(chan error, 1)
	go func() {
		_, err := callIn(t.Context(), i.NewContext(ContextOptions{}), "aware")
		closing <- err
	}()
	<-begun
	i.Close()
	if err := <-closing; !errors.Is(err, ErrClosed) { // though the work ends at once, with what would have been its value
		t.Errorf("the isolate was closed: %v", err)
	}
	<-ended
}
