package storage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tandem-do/tandem/proto/objectid"
)

// maxAlarmMillis is the last millisecond that a JavaScript Date can hold.
const maxAlarmMillis = 8_640_000_000_000_000

// Alarm returns the time of the object's alarm, and whether there is one. While the alarm's handler runs there
// is none, unless one was set since. Between the retries of an alarm it is the time that was set first.
func (o *Object) Alarm(ctx context.Context) (at time.Time, ok bool, err error) {
	end := o.observe(ctx, "getAlarm")
	at, ok, err = o.alarm(ctx)
	end.with(err)
	return at, ok, err
}

func (o *Object) alarm(ctx context.Context) (at time.Time, ok bool, err error) {
	if err := o.lock(ctx, "getAlarm"); err != nil {
		return time.Time{}, false, err
	}
	defer o.mu.Unlock()
	switch change := o.top.alarmChange(); change.kind {
	case alarmSet:
		return time.UnixMilli(change.at), true, nil
	case alarmDelete:
		return time.Time{}, false, nil
	}
	r, ok, err := o.store.alarmRecord(o.key(kindAlarm, ""))
	if err != nil {
		return time.Time{}, false, fmt.Errorf("getAlarm: %w", err)
	}
	if !ok || (o.inAlarm && o.running == r.token) {
		return time.Time{}, false, nil
	}
	return time.UnixMilli(r.scheduled), true, nil
}

// SetAlarm sets the object's one alarm, in whole milliseconds, rounded up; a time in the past means now. Errors:
// *Error for a time that is not after 1970-01-01T00:00:00Z or that JavaScript cannot hold; what Hooks.SetAlarm says.
func (o *Object) SetAlarm(ctx context.Context, at time.Time, opts PutOptions) error {
	end := o.observe(ctx, "setAlarm")
	err := o.setAlarm(ctx, at, opts)
	end.with(err)
	return err
}

func (o *Object) setAlarm(ctx context.Context, at time.Time, opts PutOptions) error {
	millis := ceilMillis(at)
	if millis <= 0 {
		return typeError("setAlarm() cannot be called with an alarm time <= 0")
	}
	if millis > maxAlarmMillis {
		return typeError("The value cannot be converted because it is not a valid Date.")
	}
	return o.changeAlarm(ctx, alarmWrite{alarmSet, max(millis, ceilMillis(o.store.clock.Now()))}, opts)
}

// DeleteAlarm removes the alarm, if there is one.
func (o *Object) DeleteAlarm(ctx context.Context, opts PutOptions) error {
	end := o.observe(ctx, "deleteAlarm")
	err := o.changeAlarm(ctx, alarmWrite{kind: alarmDelete}, opts)
	end.with(err)
	return err
}

func (o *Object) changeAlarm(ctx context.Context, change alarmWrite, opts PutOptions) error {
	operation := "setAlarm"
	if change.kind == alarmDelete {
		operation = "deleteAlarm"
	}
	if err := o.lock(ctx, operation); err != nil {
		return err
	}
	defer o.mu.Unlock()
	if change.kind == alarmSet && o.hooks.SetAlarm != nil {
		if err := o.hooks.SetAlarm(); err != nil {
			return err
		}
	}
	top := o.topLocked()
	top.alarm = change
	top.confirmed = top.confirmed || !opts.AllowUnconfirmed
	return nil
}

// BeginAlarm starts a run of the alarm's handler, in the turn that is about to call it. It reports false when
// the run is stale: the handler must not run then, and the outcome is alarm.Stale. At most one run may be open.
func (o *Object) BeginAlarm(due DueAlarm) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.usableLocked(); err != nil {
		return false, err
	}
	if o.inAlarm {
		return false, errors.New("begin alarm: a run is open already")
	}
	if o.top.alarmChange().kind != alarmKeep {
		return false, nil
	}
	r, ok, err := o.store.alarmRecord(o.key(kindAlarm, ""))
	if err != nil {
		return false, fmt.Errorf("begin alarm: %w", err)
	}
	if !ok || r.token != due.token {
		return false, nil
	}
	o.inAlarm, o.running = true, r.token
	return true, nil
}

// EndAlarm ends the run, in the turn in which the handler returned. With ok, the alarm is deleted unless a new
// one was set meanwhile; the deletion is a pending write like the handler's last ones, so the Flush that follows
// commits them together. Without ok the alarm is kept: package alarm retries or drops it. Call it for every
// outcome of a handler that was begun, unless the Object was closed.
func (o *Object) EndAlarm(ok bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.usableLocked(); err != nil {
		return err
	}
	token, open := o.running, o.inAlarm
	o.inAlarm, o.running = false, 0
	if !ok || !open || o.top.alarmChange().kind != alarmKeep {
		return nil
	}
	r, found, err := o.store.alarmRecord(o.key(kindAlarm, ""))
	if err != nil {
		return fmt.Errorf("end alarm: %w", err)
	}
	if !found || r.token != token {
		return nil
	}
	o.topLocked()
	base := o.top.base()
	base.alarm, base.confirmed = alarmWrite{kind: alarmDelete}, true
	return nil
}

// fillAlarm writes a change of the alarm, and of its index entry, into a batch. It returns the alarm that is set,
// and whether the object has one afterwards. The object's alarmLock is held.
func (o *Object) fillAlarm(b *pebble.Batch, change alarmWrite) (set *DueAlarm, remains bool, err error) {
	s := o.store
	key := o.key(kindAlarm, "")
	old, ok, err := s.alarmRecordLocked(key)
	if err != nil || change.kind == alarmKeep {
		return nil, ok, err
	}
	if ok {
		if err := b.Delete(alarmIndexKey(old.due, o.namespace, o.id), nil); err != nil {
			return nil, false, err
		}
	}
	if change.kind == alarmDelete {
		if ok {
			err = b.Delete(key, nil)
		}
		return nil, false, err
	}
	r := alarmRecord{token: rand.Uint64(), scheduled: change.at, due: change.at}
	d := r.run(o.namespace, o.id)
	return &d, true, setAlarm(b, key, d)
}

// setAlarm writes an alarm's record and index entry.
func setAlarm(b *pebble.Batch, key []byte, d DueAlarm) error {
	r := d.record()
	value := r.encode()
	if err := b.Set(key, value, nil); err != nil {
		return err
	}
	return b.Set(alarmIndexKey(r.due, d.Namespace, d.ID), value, nil)
}

// ceilMillis rounds up, so that an alarm is never early.
func ceilMillis(t time.Time) int64 {
	millis := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		millis++
	}
	return millis
}

func (r alarmRecord) run(namespace string, id objectid.ID) DueAlarm {
	return DueAlarm{
		Namespace: namespace, ID: id, token: r.token,
		ScheduledTime: time.UnixMilli(r.scheduled), Due: time.UnixMilli(r.due),
		Retries: int(r.retries), Counted: int(r.counted),
	}
}

func (d DueAlarm) record() alarmRecord {
	return alarmRecord{
		token: d.token, scheduled: d.ScheduledTime.UnixMilli(), due: ceilMillis(d.Due),
		retries: uint32(d.Retries), counted: uint32(d.Counted),
	}
}
