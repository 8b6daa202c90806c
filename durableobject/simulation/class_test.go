package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
)

const (
	worker    = "sim"
	className = "Object"
	namespace = worker + "-" + className
)

// errPlanned is the failure of a program that is meant to fail.
var errPlanned = errors.New("planned failure")

// live is the instance of the class: it runs programs, each operation on its storage and on its model.
type live struct {
	state *durableobject.State
	w     *world
	model *instance
}

// class returns the class for the host of a generation.
func (w *world) class(generation int) durableobject.Class {
	return durableobject.Class{
		Name: className,
		New: func(ctx context.Context, s *durableobject.State) (any, error) {
			name, _ := s.Name()
			o := w.object(name)
			l := &live{state: s, w: w, model: &instance{object: o, generation: generation}}
			found, err := l.read(ctx)
			if err != nil {
				return nil, err
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.generation == generation {
				o.reopen(found)
				o.instance = l.model
			}
			return l, nil
		},
		Methods: map[string]durableobject.Method{"run": durableobject.Func((*live).Run)},
	}
}

// read returns all that the object has stored.
func (l *live) read(ctx context.Context) (state, error) {
	s := state{values: map[string]string{}}
	entries, err := l.state.Storage().List(ctx, storage.ListOptions{})
	if err != nil {
		return s, err
	}
	for _, e := range entries {
		s.values[e.Key] = string(e.Value)
	}
	at, ok, err := l.state.Storage().Alarm(ctx)
	if ok {
		s.alarm.at = at
	}
	return s, err
}

// check runs f, with the model at hand, unless the instance does not count any more.
func (l *live) check(f func(o *object)) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if l.model.live() {
		f(l.model.object)
	}
}

// Run runs the program of a call and returns what commit its caller then knows of.
func (l *live) Run(ctx context.Context, id int) (int, error) {
	c := l.w.call(id)
	e := &event{name: fmt.Sprint("call ", id), instance: l.model}
	l.check(func(o *object) {
		e.enter()
		if c.arrived > 0 && c.arrived < o.started {
			l.w.failf("%s: %s got its turn after one that arrived later", o.name, e.name)
		}
		o.started = max(o.started, c.arrived)
		if c.from != nil {
			c.from.ack(c.rests, e.name+" of "+o.name)
		}
		l.w.tracef("%s %s begins", o.name, e.name)
	})
	c.ran = true
	err := l.run(ctx, e, c.program)
	l.check(func(o *object) {
		c.rest = e.leave()
		l.w.tracef("%s %s ends: %v", o.name, e.name, err)
	})
	return c.rest, err
}

// Alarm runs the program of the alarm that is due.
func (l *live) Alarm(ctx context.Context, a durableobject.AlarmInfo) error {
	e := &event{name: "alarm", instance: l.model}
	var setting alarmSetting
	l.check(func(o *object) {
		e.enter()
		setting = o.last().alarm
		o.beginAlarm(e, setting, a)
	})
	err := l.run(ctx, e, setting.program)
	if err == nil && setting.failing && !a.IsRetry {
		err = errPlanned
	}
	l.check(func(o *object) {
		o.endAlarm(e, setting, a, err == nil)
		e.leave()
		l.w.tracef("%s alarm ends: %v", o.name, err)
	})
	return err
}

// beginAlarm checks that a run of the alarm should be made, and made now.
func (o *object) beginAlarm(e *event, setting alarmSetting, a durableobject.AlarmInfo) {
	now := time.Now()
	o.w.tracef("%s alarm of %s begins, retry %d", o.name, a.ScheduledTime.Format("15:04:05.000"), a.RetryCount)
	switch {
	case !setting.at.Equal(a.ScheduledTime):
		o.w.failf("%s: alarm of %v runs, but the object's is that of %v", o.name, a.ScheduledTime, setting.at)
	case now.Before(a.ScheduledTime):
		o.w.failf("%s: alarm of %v runs at %v", o.name, a.ScheduledTime, now)
	case o.retryOf == setting.id && now.Before(o.retryAt):
		o.w.failf("%s: alarm is retried at %v, before %v", o.name, now, o.retryAt)
	}
	e.instance.inAlarm = setting.id
}

// endAlarm notes how a run ended.
func (o *object) endAlarm(e *event, setting alarmSetting, a durableobject.AlarmInfo, ok bool) {
	e.instance.inAlarm = 0
	if !ok {
		o.retryOf, o.retryAt = setting.id, time.Now().Add(2*time.Second<<a.RetryCount)
		return
	}
	changed := len(o.pending) > 0 && o.pending[0].alarm != nil
	if changed || o.last().alarm.id != setting.id || e.instance.dead {
		return
	}
	o.top().alarm, o.top().confirmed = &alarmSetting{}, true
}

// run runs a program.
func (l *live) run(ctx context.Context, e *event, p program) error {
	for _, i := range p {
		if err := l.instr(ctx, e, i); err != nil {
			if errors.Is(err, storage.ErrClosed) {
				l.breaks(e) // it has
			}
			return fmt.Errorf("%s: %w", i.kind, err)
		}
	}
	return nil
}

// instr runs one instruction.
func (l *live) instr(ctx context.Context, e *event, i instr) error {
	s := l.state.Storage()
	switch i.kind {
	case instrGet, instrList, instrGetAlarm:
		return l.look(ctx, i)
	case instrPut, instrDelete, instrDeleteAll, instrSetAlarm, instrDeleteAlarm:
		return l.write(ctx, i)
	case instrCompute:
		compute(i.wait)
	case instrAwait:
		l.away(e, func() error {
			rests := l.w.rest(l.model)
			return l.state.Await(ctx, func(ctx context.Context) error {
				l.check(func(o *object) { o.ack(rests, e.name+" in await") })
				return pause(ctx, i.wait)
			})
		})
	case instrSync:
		l.away(e, func() error {
			rests := l.w.newest(l.model)
			err := s.Sync(ctx)
			if err == nil {
				l.check(func(o *object) { o.ack(rests, e.name+" after sync") })
			}
			return err
		})
	case instrCall:
		l.call(ctx, e, i)
	case instrTransaction:
		return l.transaction(ctx, e, i)
	case instrBlock:
		return l.block(ctx, e, i)
	case instrBackground:
		l.state.WaitUntil(func(ctx context.Context) error {
			return l.state.Enter(ctx, func(ctx context.Context) error { return l.background(ctx, i.body) })
		})
	case instrAbort:
		l.breaks(e)
		l.state.Abort(errPlanned)
		return errPlanned
	case instrPanic:
		l.breaks(e)
		panic(errPlanned)
	case instrFail:
		return durableobject.Exception("RangeError", errPlanned.Error())
	}
	return nil
}

// breaks notes that the event is about to break its instance, or has learned that it broke.
func (l *live) breaks(e *event) { l.check(func(*object) { e.die() }) }

// background runs a program in a turn that WaitUntil's code has entered.
func (l *live) background(ctx context.Context, p program) error {
	e := &event{name: "background", instance: l.model}
	l.check(func(*object) { e.enter() })
	err := l.run(ctx, e, p)
	l.check(func(*object) { e.leave() })
	return err
}

// away runs a function that gives the turn away. Its error may be that of a caller that has gone or of an instance that
// broke; the code goes on in either case, as code may, and storage will tell.
func (l *live) away(e *event, f func() error) {
	l.check(func(*object) { e.leave() })
	err := f()
	l.check(func(*object) {
		e.unsure = e.unsure || err != nil
		e.enter()
	})
}

// call calls another object, or this one.
func (l *live) call(ctx context.Context, e *event, i instr) {
	l.away(e, func() error {
		to := fmt.Sprint("o", i.object)
		c := &call{to: l.w.object(to), program: i.body, from: l.model.object, rests: l.w.rest(l.model)}
		if l.model.generation != l.w.current() {
			c.from = nil
		}
		id := l.w.register(c)
		stub := l.state.Namespace(namespace).GetByName(to)
		rest, err := durableobject.Call[int](ctx, stub, "run", id)
		if err == nil {
			l.check(func(*object) { c.to.ack(rest, e.name+" of "+l.model.object.name) })
		}
		return err
	})
}

// look runs an instruction that reads, and compares what it gives.
func (l *live) look(ctx context.Context, i instr) error {
	s := l.state.Storage()
	switch i.kind {
	case instrGet:
		value, ok, err := s.Get(ctx, i.key, storage.GetOptions{})
		if err != nil {
			return err
		}
		l.check(func(o *object) {
			if want, has := o.get(i.key); has != ok || want != string(value) {
				l.w.failf("%s: get %s gives %q, %v, want %q, %v", o.name, i.key, value, ok, want, has)
			}
		})
	case instrList:
		entries, err := s.List(ctx, storage.ListOptions{Prefix: "k", Reverse: i.reverse, Limit: i.limit})
		if err != nil {
			return err
		}
		l.check(func(o *object) { o.checkList(i, entries) })
	case instrGetAlarm:
		at, ok, err := s.Alarm(ctx)
		if err != nil {
			return err
		}
		l.check(func(o *object) {
			if want := o.visibleAlarm(l.model).at; ok == want.IsZero() || ok && !at.Equal(want) {
				l.w.failf("%s: getAlarm gives %v, %v, want %v", o.name, at, ok, want)
			}
		})
	}
	return nil
}

// checkList compares a list with what it should be.
func (o *object) checkList(i instr, entries []storage.Entry) {
	all := o.visible()
	keys := slices.Sorted(maps.Keys(all))
	if i.reverse {
		slices.Reverse(keys)
	}
	if i.limit > 0 && i.limit < len(keys) {
		keys = keys[:i.limit]
	}
	var got, want []string
	for _, e := range entries {
		got = append(got, e.Key+"="+string(e.Value))
	}
	for _, k := range keys {
		want = append(want, k+"="+all[k])
	}
	if !slices.Equal(got, want) {
		o.w.failf("%s: %s gives %v, want %v", o.name, i, got, want)
	}
}

// write runs an instruction that writes.
func (l *live) write(ctx context.Context, i instr) error {
	s := l.state.Storage()
	opts := storage.PutOptions{AllowUnconfirmed: i.unconfirmed}
	var err error
	switch i.kind {
	case instrPut:
		value := l.w.value()
		if err = s.Put(ctx, []storage.Entry{{Key: i.key, Value: []byte(value)}}, opts); err == nil {
			l.change(opts, func(top *layer) { top.values[i.key] = &value })
		}
	case instrDelete:
		var n int
		if n, err = s.Delete(ctx, []string{i.key}, opts); err == nil {
			l.check(func(o *object) {
				if _, had := o.get(i.key); had != (n == 1) {
					l.w.failf("%s: delete %s gives %d, but had: %v", o.name, i.key, n, had)
				}
			})
		}
		if n == 1 {
			l.change(opts, func(top *layer) { top.values[i.key] = nil })
		}
	case instrDeleteAll:
		if err = s.DeleteAll(ctx); err == nil {
			l.change(opts, func(top *layer) {
				top.values, top.cleared, top.alarm = map[string]*string{}, true, &alarmSetting{}
			})
		}
		if fault := (*storage.Error)(nil); errors.As(err, &fault) {
			err = nil // within a transaction
		}
	case instrSetAlarm:
		at := time.Now().Add(i.wait)
		if err = s.SetAlarm(ctx, at, opts); err == nil {
			l.change(opts, func(top *layer) {
				at = at.Add(time.Millisecond - 1).Truncate(time.Millisecond)
				top.alarm = &alarmSetting{at: at, program: i.body, failing: i.fails, id: l.w.nextID()}
			})
		}
	case instrDeleteAlarm:
		if err = s.DeleteAlarm(ctx, opts); err == nil {
			l.change(opts, func(top *layer) { top.alarm = &alarmSetting{} })
		}
	}
	return err
}

// change writes to the model.
func (l *live) change(opts storage.PutOptions, f func(top *layer)) {
	l.check(func(o *object) {
		top := o.top()
		top.confirmed = top.confirmed || !opts.AllowUnconfirmed
		f(top)
	})
}

// transaction runs a transaction, within whatever section or transaction there is.
func (l *live) transaction(ctx context.Context, e *event, i instr) error {
	s := l.state.Storage()
	planned := false
	err := s.Transaction(ctx, func(ctx context.Context) error {
		var sec *section
		l.check(func(o *object) {
			o.top()
			o.pending = append(o.pending, newLayer())
			sec = e.begin()
			l.mayTakeLong(o, i.body)
		})
		keep := false
		defer l.check(func(o *object) {
			if sec != nil {
				e.end(sec)
				o.popTransaction(keep)
			}
		})
		if err := l.run(ctx, e, i.body); err != nil {
			return err
		}
		if !i.fails {
			keep = true
			return nil
		}
		planned = true
		switch i.limit {
		case rollbackByMethod:
			return s.Rollback(ctx)
		case rollbackBySilence:
			return storage.ErrRollback
		}
		return errPlanned
	})
	if planned && (err == nil || errors.Is(err, errPlanned)) {
		return nil
	}
	return err
}

// block runs a critical section.
func (l *live) block(ctx context.Context, e *event, i instr) error {
	return l.state.BlockConcurrencyWhile(ctx, func(ctx context.Context) error {
		var sec *section
		l.check(func(o *object) {
			sec = e.begin()
			l.mayTakeLong(o, i.body)
		})
		err := l.run(ctx, e, i.body)
		if err == nil && i.fails {
			err = errPlanned
		}
		l.check(func(*object) {
			if sec != nil {
				e.end(sec)
			}
			if err != nil {
				e.die()
			}
		})
		return err
	})
}

// mayTakeLong notes that a section may time out, since it waits for an object that may wait for this one.
func (l *live) mayTakeLong(o *object, body program) {
	if body.has(instrCall) {
		o.risk()
	}
}

// pause waits as code does that knows nothing of turns.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
