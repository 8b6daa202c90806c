package nodeapi

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// throws runs an expression and returns what it throws, as text.
func throws(t *testing.T, expression string) string {
	t.Helper()
	i, err := newIsolate(t, fmt.Sprintf(`return { async run() { try { await (%s); return "nothing"; }
		catch (e) { return e + "|" + e.code; } } }`, expression), newest(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return run(t, i)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, expression, want string }{
		{"a large buffer", `Buffer.alloc(1e10)`, "RangeError: Array buffer allocation failed"},
		{"a large buffer by concat", `Buffer.concat([], 1e10)`, "RangeError: Array buffer allocation failed"},
		{"iterations", `crypto.pbkdf2Sync("p", "s", 10000001, 32, "sha256")`,
			"Error: Pbkdf2 failed: iteration counts above 10000000 are not supported (requested 10000001)."},
		{"a long key", `crypto.pbkdf2Sync("p", "s", 100000, 1e6, "sha256")`, "the key is too long for this many iterations|ERR_OUT_OF_RANGE"},
		{"a long key of few iterations", `crypto.pbkdf2Sync("p", "s", 1, 1e9, "sha256")`, "the key is too long for this many iterations|ERR_OUT_OF_RANGE"},
		{"memory", `crypto.scryptSync("p", "s", 32, { N: 2 ** 20 })`, "Invalid scrypt params: memory limit exceeded"},
		{"memory allowed", `crypto.scryptSync("p", "s", 32, { N: 2 ** 20, maxmem: 2 ** 40 })`, "memory limit exceeded"},
		{"parallelism", `crypto.scryptSync("p", "s", 32, { N: 1024, p: 1e4, maxmem: 2 ** 40 })`, "too much to compute"},
		{"random bytes", `crypto.randomBytes(1e8)`, "at most"},
		{"a modulus", `crypto.generateKeyPairSync("rsa", { modulusLength: 16384 })`, "1024 to 4096 bits"},
		{"what a bomb becomes", `(() => { const z = require("node:zlib");
			return z.gunzipSync(z.gzipSync(Buffer.alloc(1e6)), { maxOutputLength: 1e5 }); })()`, "Cannot create a Buffer larger"},
		{"no hash", `crypto.pbkdf2Sync("p", "s", 1, 1, "md4")`, "ERR_CRYPTO_INVALID_DIGEST"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := throws(t, test.expression); !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestGlobalScope finds what would give an event's powers to code that runs before there is one.
func TestGlobalScope(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{
		`crypto.randomBytes(4)`, `crypto.randomUUID()`, `crypto.randomInt(5)`, `crypto.generateKeyPairSync("ed25519")`,
		`timers.setTimeout(() => {}, 1)`, `setImmediate(() => {})`, `crypto.pbkdf2("a", "b", 1, 8, "sha1", () => {})`,
	} {
		i, err := newIsolate(t, fmt.Sprintf(`let got; try { %s; got = "nothing"; } catch (e) { got = e.message; }
			return { run: () => got }`, expression), newest(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, i); !strings.HasPrefix(got, "Disallowed operation called within global scope.") {
			t.Errorf("%s: %s", expression, got)
		}
	}
}

// TestStoresStayWithTheirEvent has two events at a time use one storage.
func TestStoresStayWithTheirEvent(t *testing.T) {
	t.Parallel()
	i, err := newIsolate(t, `const s = new async_hooks.AsyncLocalStorage();
		let n = 0, release;
		const gate = new Promise((r) => { release = r; });
		return { run: () => s.run(++n, async () => {
			const mine = n;
			if (mine === 2) release();
			await gate;
			await timers.promises.setTimeout(1);
			return mine + "=" + s.getStore();
		}) }`, newest(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got [2]string
	var events [2]*isolate.Event
	for k := range got {
		c := i.NewContext(isolate.ContextOptions{Object: true})
		defer c.Close()
		events[k] = c.Start(t.Context(), func(*isolate.Event) (goja.Value, error) {
			f, _ := goja.AssertFunction(i.Exports().Get("run"))
			return f(goja.Undefined())
		}, func(_ *isolate.Event, v goja.Value) error {
			got[k] = v.String()
			return nil
		})
	}
	for _, e := range events {
		if err := e.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got != [2]string{"1=1", "2=2"} {
		t.Error("got", got)
	}
}

func TestExit(t *testing.T) {
	t.Parallel()
	i, err := newIsolate(t, `return { run() { try { process.exit(3); } finally { for (;;); } }, ok: () => 1 }`, newest(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = i.NewContext(isolate.ContextOptions{}).Run(t.Context(), func(*isolate.Event) (goja.Value, error) {
		f, _ := goja.AssertFunction(i.Exports().Get("run"))
		return f(goja.Undefined())
	}, nil)
	var x *isolate.Exception
	want := "The Node.js process.exit(3) API was called. Canceling the request."
	if !errors.As(err, &x) || x.Outcome != isolate.OutcomeCanceled || x.Message != want {
		t.Errorf("got %v", err)
	}
	select {
	case <-i.Condemned():
		t.Error("the isolate is condemned")
	default:
	}
}
