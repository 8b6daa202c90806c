package webapi

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// H-13: a script that exports nothing and listens to events.
func TestListenersOfTheGlobalObject(t *testing.T) {
	t.Parallel()
	l := &logs{}
	i := newWorker(t, `
		addEventListener("fetch", (event) => {
			event.waitUntil(Promise.resolve().then(() => console.log("waited")));
			event.respondWith(answer(event.request));
		});
		addEventListener("scheduled", (event) => { console.log("cron", event.cron, event.scheduledTime); event.noRetry(); });
		async function answer(request) { return new Response(GREETING + " " + new URL(request.url).pathname); }
	`, isolate.Options{OnLog: l.add}, Options{Env: func(r *Realm) (*goja.Object, error) {
		env := r.Isolate().Runtime().NewObject()
		return env, env.Set("GREETING", "hello")
	}})
	if _, body, err := get(t, i, "/there"); err != nil || body != "hello /there" {
		t.Error(body, err)
	}
	noRetry, err := Schedule{Time: time.UnixMilli(5), Cron: "* * * * *"}.Deliver(t.Context(), i, Call{})
	if err != nil || !noRetry {
		t.Error(noRetry, err)
	}
	if got := l.text(); got != "waited\ncron * * * * * 5" {
		t.Errorf("logged %q", got)
	}
}

// H-4: the handler scheduled, and its controller.
func TestScheduled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		i := newWorker(t, `export default { async scheduled(controller, env, ctx) {
			if (controller.cron === "bad") throw new Error("no");
			ctx.waitUntil(scheduler.wait(5000).then(() => console.log("after", controller.scheduledTime, controller.type)));
			await scheduler.wait(1000);
		} }`, isolate.Options{OnLog: l.add}, Options{})
		began := time.Now()
		noRetry, err := Schedule{Time: time.UnixMilli(7), Cron: "x"}.Deliver(t.Context(), i, Call{})
		if err != nil || noRetry || time.Since(began) != 5*time.Second || l.text() != "after 7 undefined" {
			t.Error(noRetry, err, time.Since(began), l.text())
		}
		if err := Scheduled(t.Context(), i, time.Now(), "bad"); err == nil || err.Error() != "Error: no" {
			t.Error(err)
		}
		if _, _, err := get(t, i, "/"); err == nil || !strings.Contains(err.Error(), "Handler does not export a fetch() function.") {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := (Schedule{Cron: "x"}).Deliver(ctx, i, Call{}); err == nil {
			t.Error("a context that ended was not heeded")
		}
		i.Close()
	})
}

func TestUnhandledRejections(t *testing.T) {
	t.Parallel()
	l := &logs{}
	i := newWorker(t, `
		addEventListener("unhandledrejection", (e) => {
			console.log(e.type, e.reason.message, e.promise instanceof Promise);
			if (e.reason.message === "handled") e.preventDefault();
			if (e.reason.message === "again") Promise.reject(e.reason);
			if (e.reason.message === "forever") for (;;);
		});
		export default { fetch(request) {
			const path = new URL(request.url).pathname.slice(1);
			Promise.reject(new Error(path));
			const late = Promise.reject(new Error("late"));
			late.catch(() => {});
			return new Response(path);
		} }`, isolate.Options{OnLog: l.add, Limits: isolate.Limits{CPU: 2 * time.Second}}, Options{})
	for path, want := range map[string]string{"/handled": "handled", "/lost": "lost", "/again": "again"} {
		if _, body, err := get(t, i, path); err != nil || body != want {
			t.Error(path, body, err)
		}
	}
	_, body, err := get(t, i, "/forever")
	if err == nil && body != "forever" {
		t.Error("an endless listener", body)
	}
	text := l.text()
	for want, times := range map[string]int{
		"unhandledrejection handled true": 1, "in promise) Error: handled": 0, "unhandledrejection lost true": 1,
		"Uncaught (in promise) Error: lost": 1, "unhandledrejection again true": 16, "late": 0,
	} {
		if got := strings.Count(text, want); got != times {
			t.Errorf("%q was logged %d times, want %d", want, got, times)
		}
	}
}

func TestBrandStaysHidden(t *testing.T) {
	t.Parallel()
	i := newWorker(t, `export default { fetch(request) {
		const out = [
			Object.getOwnPropertySymbols(request).length, Reflect.ownKeys(request).length, Reflect.ownKeys({ ...request }).length,
			Object.getOwnPropertySymbols({ [Symbol.iterator]: 1 }).length, Reflect.ownKeys({ a: 1 }).join(),
			Reflect.ownKeys(Object.assign({}, request)).length,
		];
		return Response.json(out);
	} }`, isolate.Options{}, Options{})
	if _, body, err := get(t, i, "/"); err != nil || body != `[0,0,0,1,"a",0]` {
		t.Error(body, err)
	}
}
