package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tandem-do/tandem/proto/objectid"
)

// TestScripts runs testdata: each script drives one store on an in-memory disk, in a bubble whose clock begins at
// 2000-01-01T00:00:00Z. Operations and their output are described at the head of testdata/script/basics.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			e := &scriptEnv{t: t, disk: vfs.NewCrashableMem(), objects: map[string]*Object{}}
			e.open()
			defer func() { e.store.Close() }()
			datadriven.RunTest(t, path, e.command)
		})
	})
}

type scriptEnv struct {
	t       *testing.T
	disk    *vfs.MemFS
	limits  Limits
	store   *Store
	objects map[string]*Object
	runs    map[string]DueAlarm // by object
	out     strings.Builder
}

func (e *scriptEnv) open() {
	e.t.Helper()
	s, err := Open(Options{Dir: "/state", FS: e.disk, Limits: e.limits})
	if err != nil {
		e.t.Fatal(err)
	}
	e.store, e.objects, e.runs = s, map[string]*Object{}, map[string]DueAlarm{}
}

// object returns the object of a name such as "a" (namespace "w-Class") or "other/a".
func (e *scriptEnv) object(name string) *Object {
	if o := e.objects[name]; o != nil {
		return o
	}
	namespace, local, ok := strings.Cut(name, "/")
	if !ok {
		namespace, local = "w-Class", name
	}
	o := e.store.Object(namespace, objectid.NewNamespace(namespace).FromName(local), Hooks{})
	e.objects[name] = o
	return o
}

func (e *scriptEnv) command(t *testing.T, td *datadriven.TestData) string {
	e.out.Reset()
	switch td.Cmd {
	case "do": // do OBJECT: operations within turns of the object
		lines := strings.Split(strings.TrimSpace(td.Input), "\n")
		e.do(context.Background(), e.object(td.CmdArgs[0].Key), lines)
	case "crash": // power fails; what was not synced is gone
		clone := e.disk.CrashClone(vfs.CrashCloneCfg{})
		e.store.Close()
		e.disk = clone
		e.open()
	case "reopen":
		e.store.Close()
		e.open()
	case "limits": // legacy limits from here on
		e.store.Close()
		e.limits = LegacyLimits()
		e.open()
	case "sleep":
		d, err := time.ParseDuration(td.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(d)
	case "namespaces":
		e.namespaces(td)
	case "due":
		e.due()
	case "retry", "drop":
		e.change(td)
	default:
		t.Fatalf("%s: unknown command %s", td.Pos, td.Cmd)
	}
	return e.out.String()
}

// do runs lines on an object and returns those after an unmatched "}".
func (e *scriptEnv) do(ctx context.Context, o *Object, lines []string) (rest []string, last string) {
	for len(lines) > 0 {
		line := strings.TrimSpace(lines[0])
		lines = lines[1:]
		if strings.HasPrefix(line, "}") {
			return lines, strings.TrimSpace(line[1:])
		}
		fields := strings.Fields(line)
		if fields[0] == "{" {
			lines = e.transaction(ctx, o, lines)
			continue
		}
		e.operation(ctx, o, line, fields[1:])
	}
	return nil, ""
}

var errScript = errors.New("thrown")

// transaction runs "{ … }", "{ … } throw" or "{ … } rollback".
func (e *scriptEnv) transaction(ctx context.Context, o *Object, lines []string) (rest []string) {
	ran := false
	err := o.Transaction(ctx, func(ctx context.Context) error {
		ran = true
		var how string
		rest, how = e.do(ctx, o, lines)
		switch how {
		case "throw":
			return errScript
		case "rollback":
			return ErrRollback
		}
		return nil
	})
	if !ran { // it was refused: skip its lines
		for len(lines) > 0 && !strings.HasPrefix(strings.TrimSpace(lines[0]), "}") {
			lines = lines[1:]
		}
		rest = lines[min(1, len(lines)):]
	}
	if err != nil {
		e.say("transaction: %s", describe(err))
	}
	return rest
}

func (e *scriptEnv) say(format string, args ...any) { fmt.Fprintf(&e.out, format+"\n", args...) }

func describe(err error) string {
	var fault *Error
	if errors.As(err, &fault) {
		return fault.Class + ": " + fault.Message
	}
	return "error: " + err.Error()
}

// result says what an operation gave.
func (e *scriptEnv) result(line string, err error, format string, args ...any) {
	if err != nil {
		e.say("%s: %s", line, describe(err))
	} else if format != "" {
		e.say("%s: %s", line, fmt.Sprintf(format, args...))
	}
}

func (e *scriptEnv) operation(ctx context.Context, o *Object, line string, args []string) {
	op, _, _ := strings.Cut(line, " ")
	var put PutOptions
	if n := len(args); n > 0 && args[n-1] == "unconfirmed" {
		put.AllowUnconfirmed, args = true, args[:n-1]
	}
	switch op {
	case "get":
		e.get(ctx, o, line, args)
	case "put":
		e.result(line, o.Put(ctx, parseEntries(args), put), "")
	case "delete":
		n, err := o.Delete(ctx, parseKeys(args), put)
		e.result(line, err, "%d", n)
	case "deleteAll":
		e.result(line, o.DeleteAll(ctx), "")
	case "deleteAllExceptAlarm":
		e.result(line, o.DeleteAllExceptAlarm(ctx), "")
	case "list":
		entries, err := o.List(ctx, parseList(e.t, args))
		e.result(line, err, "%s", formatEntries(entries))
	case "sync":
		e.result(line, o.Sync(ctx), "")
	case "rollback":
		e.result(line, o.Rollback(ctx), "")
	case "flush":
		e.flush(o)
	case "discard":
		o.Discard()
	case "close":
		o.Close()
	case "setName":
		o.SetName(parseKey(strings.Join(args, " ")))
	case "name":
		name, ok, err := o.Name()
		e.result(line, err, "%q %v", name, ok)
	case "empty":
		empty, err := o.Empty()
		e.result(line, err, "%v", empty)
	default:
		e.alarmOperation(ctx, o, line, args, put)
	}
}

func (e *scriptEnv) alarmOperation(ctx context.Context, o *Object, line string, args []string, put PutOptions) {
	op, _, _ := strings.Cut(line, " ")
	switch op {
	case "getAlarm":
		at, ok, err := o.Alarm(ctx)
		if !ok {
			e.result(line, err, "none")
			return
		}
		e.result(line, err, "%s", at.UTC().Format("15:04:05.000"))
	case "setAlarm":
		e.result(line, o.SetAlarm(ctx, parseTime(e.t, args[0]), put), "")
	case "deleteAlarm":
		e.result(line, o.DeleteAlarm(ctx, put), "")
	case "begin":
		ok, err := o.BeginAlarm(e.runs[o.ID().String()])
		e.result(line, err, "%v", ok)
	case "end":
		e.result(line, o.EndAlarm(args[0] == "ok"), "")
	default:
		e.t.Fatalf("unknown operation %q", line)
	}
}

func (e *scriptEnv) get(ctx context.Context, o *Object, line string, args []string) {
	keys := parseKeys(args)
	if len(keys) != 1 {
		entries, err := o.GetMany(ctx, keys, GetOptions{})
		e.result(line, err, "%s", formatEntries(entries))
		return
	}
	value, ok, err := o.Get(ctx, keys[0], GetOptions{})
	if !ok {
		e.result(line, err, "none")
		return
	}
	e.result(line, err, "%s", value)
}

func (e *scriptEnv) flush(o *Object) {
	c := o.Flush()
	if c == nil {
		e.say("flush: nothing")
		return
	}
	err := c.Wait(context.Background())
	confirmed := "confirmed"
	if !c.Confirmed() {
		confirmed = "unconfirmed"
	}
	e.result("flush", err, "%s", confirmed)
}

func (e *scriptEnv) namespaces(td *datadriven.TestData) {
	limit, after := 0, ""
	td.MaybeScanArgs(e.t, "limit", &limit)
	td.MaybeScanArgs(e.t, "after", &after)
	names, err := e.store.Namespaces(after, limit)
	e.result("namespaces", err, "%s", strings.Join(names, " "))
	for _, name := range names {
		var n int
		var after *objectid.ID
		for {
			ids, err := e.store.Objects(name, after, 2)
			if err != nil {
				e.t.Fatal(err)
			}
			if n += len(ids); len(ids) == 0 {
				break
			}
			after = &ids[len(ids)-1]
		}
		e.say("  %s has %d", name, n)
	}
}

func (e *scriptEnv) due() {
	page, err := e.store.DueAlarms(time.Now(), AlarmCursor{}, 0)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, d := range page.Alarms {
		d, ok, err := e.store.CheckAlarm(d)
		if err != nil || !ok {
			e.t.Fatal("indexed alarm is stale", err)
		}
		e.runs[d.ID.String()] = d
		e.say("%s name=%q,%v scheduled=%s due=%s retries=%d counted=%d", d.Namespace, d.Name, d.HasName,
			hour(d.ScheduledTime), hour(d.Due), d.Retries, d.Counted)
	}
	if !page.Next.IsZero() {
		e.say("next %s", hour(page.Next))
	}
}

// change runs "retry OBJECT in=2s" or "drop OBJECT" on the run that "due" found.
func (e *scriptEnv) change(td *datadriven.TestData) {
	d := e.runs[e.object(td.CmdArgs[0].Key).ID().String()]
	var ok bool
	var err error
	if td.Cmd == "drop" {
		ok, err = e.store.DropAlarm(d)
	} else {
		var in string
		td.ScanArgs(e.t, "in", &in)
		delay, perr := time.ParseDuration(in)
		if perr != nil {
			e.t.Fatal(perr)
		}
		d.Due, d.Retries, d.Counted = time.Now().Add(delay), d.Retries+1, d.Counted+1
		ok, err = e.store.RetryAlarm(d)
	}
	e.result(td.Cmd, err, "%v", ok)
}

func hour(t time.Time) string { return t.UTC().Format("15:04:05.000") }
