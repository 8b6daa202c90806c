package webapi

import (
	"fmt"
	"math"
	"time"

	"github.com/dop251/goja"
)

// maxDelay is the longest delay of a timer, as in workerd: longer ones are cut to it.
const maxDelay = float64(1<<53 - 1)

func (r *Realm) installTimers() error {
	for name, f := range map[string]func(goja.FunctionCall) goja.Value{
		"setTimeout":     func(call goja.FunctionCall) goja.Value { return r.setTimer("setTimeout", call) },
		"setInterval":    func(call goja.FunctionCall) goja.Value { return r.setTimer("setInterval", call) },
		"clearTimeout":   func(call goja.FunctionCall) goja.Value { return r.clearTimer("clearTimeout", call) },
		"clearInterval":  func(call goja.FunctionCall) goja.Value { return r.clearTimer("clearInterval", call) },
		"queueMicrotask": r.queueMicrotask,
	} {
		if err := r.isolate.DefineGlobal(name, r.isolate.Function(name, 0, f)); err != nil {
			return err
		}
	}
	return r.installScheduler()
}

func delayOf(v goja.Value) time.Duration {
	ms := v.ToFloat()
	if !(ms > 0) {
		return 0
	}
	if ms*float64(time.Millisecond) >= math.MaxInt64 || ms > maxDelay {
		return math.MaxInt64 / 4
	}
	return time.Duration(ms * float64(time.Millisecond))
}

func (r *Realm) setTimer(name string, call goja.FunctionCall) goja.Value {
	f, ok := goja.AssertFunction(call.Argument(0))
	if !ok {
		r.throwType("Failed to execute '%s' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'function'.", name)
	}
	delay := delayOf(call.Argument(1))
	var interval time.Duration
	if name == "setInterval" {
		delay = max(delay, time.Millisecond)
		interval = delay
	}
	var args []goja.Value
	if len(call.Arguments) > 2 {
		args = append(args, call.Arguments[2:]...)
	}
	id := r.isolate.SetTimer(delay, interval, func() error {
		_, err := f(goja.Undefined(), args...)
		if x, ok := err.(*goja.Exception); ok { //nolint:errorlint // the engine returns it bare
			// Like workerd: what a timer's callback throws does not end the event that set it.
			r.isolate.ReportUncaught(x.Value())
			return nil
		}
		return err
	})
	if id == 0 {
		r.throwTooManyTimers()
	}
	return r.rt.ToValue(id)
}

// throwTooManyTimers says that no more timers may be set. Like workerd, which counts finished ones that it keeps.
func (r *Realm) throwTooManyTimers() {
	most := r.isolate.TimerLimit()
	r.throwDOM("QuotaExceededError", fmt.Sprintf("You have exceeded the number of active timeouts you may set. "+
		"max active timeouts: %d, current active timeouts: %d, finished timeouts: 0", most, most))
}

func (r *Realm) clearTimer(name string, call goja.FunctionCall) goja.Value {
	if len(call.Arguments) == 0 {
		r.throwType("Failed to execute '%s' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'Number'.", name)
	}
	if v := call.Argument(0); goja.IsNumber(v) {
		r.isolate.ClearTimer(v.ToInteger())
	}
	return goja.Undefined()
}

func (r *Realm) queueMicrotask(call goja.FunctionCall) goja.Value {
	f, ok := goja.AssertFunction(call.Argument(0))
	if !ok {
		r.throwType("Failed to execute 'queueMicrotask' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'function'.")
	}
	r.isolate.Microtask(func() {
		if _, err := f(goja.Undefined()); err != nil {
			if x, ok := err.(*goja.Exception); ok { //nolint:errorlint // the engine gives it bare
				r.isolate.ReportUncaught(x.Value())
				return
			}
			panic(err)
		}
	})
	return goja.Undefined()
}

// installScheduler defines scheduler.wait.
func (r *Realm) installScheduler() error {
	o := r.rt.NewObject()
	wait := r.isolate.Function("wait", 0, func(call goja.FunctionCall) goja.Value {
		return r.isolate.Async(func() goja.Value {
			if len(call.Arguments) == 0 {
				r.throwType("Failed to execute 'wait' on 'Scheduler': parameter 1 is not of type 'number'.")
			}
			delay := delayOf(call.Argument(0))
			if options, ok := call.Argument(1).(*goja.Object); ok {
				if signal := options.Get("signal"); !isNullish(signal) {
					return r.operation("events", "wait", r.rt.ToValue(float64(delay)/float64(time.Millisecond)), signal)
				}
			}
			p, resolve, _ := r.rt.NewPromise()
			if r.isolate.SetTimer(delay, 0, func() error { return resolve(goja.Undefined()) }) == 0 {
				r.throwTooManyTimers()
			}
			return r.rt.ToValue(p)
		})
	})
	if err := o.Set("wait", wait); err != nil {
		return err
	}
	r.tag(o, "Scheduler")
	return r.isolate.DefineGlobal("scheduler", o)
}
