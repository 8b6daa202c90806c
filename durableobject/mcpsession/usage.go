package mcpsession

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/v8value"
)

// Methods of a usage object that only this package calls.
const (
	methodUsageBegin = "begin"
	methodUsageEnd   = "end"
)

const (
	// usageKeyPrefix is before the hour, as hourLayout, under which what was used in it is stored.
	usageKeyPrefix = "hour/"
	hourLayout     = "2006010215"
	// placesKey is where the places of the executions that run are stored.
	placesKey = "places"
	// placeTime is how long an execution has its place at most: longer than its program may take. So one whose process was
	// lost frees it.
	placeTime = callTimeout
	// maxPlaces is how many are kept, whatever the limit.
	maxPlaces = 10_000
	// flushAfter is how long what was counted is kept in memory before it is written.
	flushAfter = time.Second
)

// Usage is the object that counts what the executions of one organization use, and holds their limits. It counts in memory
// and writes once a second: a host that is lost takes along what was counted in its last second.
type Usage struct {
	env   *environment
	state *durableobject.State
	// places has the executions that run, and when their places are free again at the latest.
	places map[string]time.Time
	// hours caches what is stored, by key.
	hours map[string]*props.UsageHour
	// dirty are the keys to be written. While there are any, a flush is under way.
	dirty map[string]struct{}
}

type usageBegin struct {
	// ID is the execution's.
	ID string `json:"id"`
	// Again is true for a program that goes on after a pause. It is not refused, and does not count as another one.
	Again bool `json:"again,omitempty"`
}

type usageVerdict struct {
	// Refusal says which limit is reached, and when to try again. Empty: the execution may begin.
	Refusal string `json:"refusal,omitempty"`
}

type usageEnd struct {
	// ID is the execution's.
	ID string `json:"id"`
	// Uncounted is true for an execution that began without asking.
	Uncounted bool `json:"uncounted,omitempty"`
	// Outcome says how it ended; empty if it did not, but has freed its place.
	Outcome string `json:"outcome,omitempty"`
	// CPUMS and WallMS are what its program has used since it began, or went on.
	CPUMS  int64 `json:"cpuMs"`
	WallMS int64 `json:"wallMs"`
}

func newUsage(ctx context.Context, env *environment, s *durableobject.State) (*Usage, error) {
	u := &Usage{env: env, state: s, hours: map[string]*props.UsageHour{}, dirty: map[string]struct{}{}}
	places, ok, err := durableobject.Get[map[string]time.Time](ctx, s.Storage(), placesKey)
	if u.places = places; !ok {
		u.places = map[string]time.Time{}
	}
	return u, err
}

// begin gives an execution a place, or says why not.
func (u *Usage) begin(ctx context.Context, in usageBegin) (usageVerdict, error) {
	now := u.state.Clock().Now()
	maps.DeleteFunc(u.places, func(_ string, until time.Time) bool { return !until.After(now) })
	hour, err := u.hour(ctx, now)
	if err != nil {
		return usageVerdict{}, err
	}
	if !in.Again {
		if refusal := decideBegin(u.env.Limits, len(u.places), hour.Executions, now); refusal != "" {
			hour.Refused++
			u.touch(hourKey(now))
			return usageVerdict{Refusal: refusal}, nil
		}
		hour.Executions++
		u.touch(hourKey(now))
	}
	if len(u.places) < maxPlaces {
		u.places[in.ID] = now.Add(placeTime)
		u.touch(placesKey)
	}
	return usageVerdict{}, nil
}

// end frees the place of an execution and counts what it used.
func (u *Usage) end(ctx context.Context, in usageEnd) (bool, error) {
	now := u.state.Clock().Now()
	if _, ok := u.places[in.ID]; ok {
		delete(u.places, in.ID)
		u.touch(placesKey)
	}
	hour, err := u.hour(ctx, now)
	if err != nil {
		return false, err
	}
	if in.Uncounted {
		hour.Executions++
	}
	if in.Outcome != "" {
		hour.Outcomes[in.Outcome]++
	}
	hour.CPUMS += max(0, in.CPUMS)
	hour.WallMS += max(0, in.WallMS)
	u.touch(hourKey(now))
	return true, nil
}

// report returns the usage of the last hours.
func (u *Usage) report(ctx context.Context, q props.UsageQuery) (props.UsageReport, error) {
	if q.Hours < 1 || q.Hours > props.MaxUsageHours {
		return props.UsageReport{}, invalid(fmt.Sprintf("hours must be between 1 and %d", props.MaxUsageHours))
	}
	now := u.state.Clock().Now()
	r := props.UsageReport{Limits: u.env.Limits, Hours: []props.UsageHour{}}
	for _, until := range u.places {
		if until.After(now) {
			r.Running++
		}
	}
	stored, err := u.stored(ctx, now.Add(-time.Duration(q.Hours-1)*time.Hour))
	if err != nil {
		return props.UsageReport{}, err
	}
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(stored))) {
		r.Hours = append(r.Hours, *stored[key])
	}
	return r, nil
}

// stored returns the hours from the one of a time on, by key, as they are in memory if they are there.
func (u *Usage) stored(ctx context.Context, since time.Time) (map[string]*props.UsageHour, error) {
	first, end := hourKey(since), usageKeyPrefix+"~"
	entries, err := u.state.Storage().List(ctx, storage.ListOptions{Start: &first, End: &end})
	if err != nil {
		return nil, err
	}
	all := map[string]*props.UsageHour{}
	for _, e := range entries {
		var h props.UsageHour
		if err := v8value.Unmarshal(e.Value, &h); err != nil {
			return nil, fmt.Errorf("stored %s: %w", e.Key, err)
		}
		all[e.Key] = &h
	}
	for key, h := range u.hours {
		if _, ok := all[key]; ok || key >= first && h.Executions+h.Refused+h.WallMS > 0 {
			all[key] = h
		}
	}
	return all, nil
}

func hourKey(t time.Time) string { return usageKeyPrefix + t.UTC().Format(hourLayout) }

// hour returns what was used in the hour of now.
func (u *Usage) hour(ctx context.Context, now time.Time) (*props.UsageHour, error) {
	key := hourKey(now)
	if h, ok := u.hours[key]; ok {
		return h, nil
	}
	h, ok, err := durableobject.Get[props.UsageHour](ctx, u.state.Storage(), key)
	if err != nil {
		return nil, err
	}
	if !ok {
		h.Hour = now.UTC().Truncate(time.Hour)
		if err := u.forget(ctx, now.Add(-props.MaxUsageHours*time.Hour)); err != nil {
			return nil, err
		}
	}
	if h.Outcomes == nil {
		h.Outcomes = map[string]int64{}
	}
	// What is written already need not be kept.
	maps.DeleteFunc(u.hours, func(other string, _ *props.UsageHour) bool { _, d := u.dirty[other]; return !d })
	u.hours[key] = &h
	return &h, nil
}

// forget deletes the hours up to the one of a time.
func (u *Usage) forget(ctx context.Context, until time.Time) error {
	first, last := usageKeyPrefix, hourKey(until)+"~"
	old, err := u.state.Storage().List(ctx, storage.ListOptions{Start: &first, End: &last})
	for _, e := range old {
		if _, err := durableobject.Delete(ctx, u.state.Storage(), e.Key); err != nil {
			return err
		}
	}
	return err
}

// decideBegin says why an execution may not begin at now, of an organization that has this many running and has begun this
// many in the hour of now. Empty: it may.
func decideBegin(l props.UsageLimits, running int, begun int64, now time.Time) string {
	switch {
	case l.Concurrent > 0 && running >= l.Concurrent:
		return fmt.Sprintf("your organization has reached its limit of %d executions at once; "+
			"wait until one of them has ended, then run the execute tool again", l.Concurrent)
	case l.PerHour > 0 && begun >= int64(l.PerHour):
		next := now.UTC().Truncate(time.Hour).Add(time.Hour)
		return fmt.Sprintf("your organization has reached its limit of %d executions an hour; "+
			"run the execute tool again after %s UTC, in %v",
			l.PerHour, next.Format("15:04"), max(time.Minute, next.Sub(now).Round(time.Minute)))
	}
	return ""
}

// touch has a key written, soon. What leaves the object does not wait for it.
func (u *Usage) touch(key string) {
	idle := len(u.dirty) == 0
	u.dirty[key] = struct{}{}
	if idle {
		u.state.WaitUntil(u.flush)
	}
}

// flush writes what is dirty, after a while.
func (u *Usage) flush(ctx context.Context) error {
	wait := make(chan struct{})
	t := u.state.Clock().AfterFunc(flushAfter, func() { close(wait) })
	defer t.Stop()
	select {
	case <-wait:
	case <-u.env.Draining:
	case <-ctx.Done():
		return nil // the object is broken, or the host gone
	}
	return u.state.Enter(ctx, u.write)
}

// write writes what is dirty.
func (u *Usage) write(ctx context.Context) error {
	entries := make([]storage.Entry, 0, len(u.dirty))
	for key := range u.dirty {
		var value any = u.hours[key]
		if key == placesKey {
			value = u.places
		}
		data, err := v8value.Marshal(value)
		if err != nil {
			return fmt.Errorf("encode %s: %w", key, err)
		}
		entries = append(entries, storage.Entry{Key: key, Value: data})
	}
	clear(u.dirty)
	return u.state.Storage().Put(ctx, entries, storage.PutOptions{AllowUnconfirmed: true})
}
