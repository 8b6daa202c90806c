package jsclass_test

import (
	"testing"
	"time"
)

// lending is a class whose objects hand out targets and call what they are given.
const lending = `
	import { DurableObject, RpcTarget } from "cloudflare:workers";
	class Count extends RpcTarget {
		constructor(object) { super(); this.object = object; }
		async add(by) {
			const { storage } = this.object.ctx;
			const n = ((await storage.get("n")) ?? 0) + by;
			await storage.put("n", n);
			return n;
		}
		reset() { this.object.ctx.abort("enough"); }
		fail() { throw Object.assign(new RangeError("in a target"), { code: 7 }); }
		born() { return this.object.born; }
		[Symbol.dispose]() { this.object.disposed = (this.object.disposed ?? 0) + 1; }
	}
	const caught = (p) => Promise.resolve(p).then((v) => v, (e) => e.name + ": " + e.message + " " + Object.keys(e).sort().join());
	export class Lender extends DurableObject {
		born = Date.now();
		count() { return new Count(this); }
		use(f, v) { return f(v); }
		async twice(f) { return [await f(1), await f(2)]; }
		async keep(f) { this.kept = f.dup(); }
		async kept_() { return this.kept(); }
		ended() { return this.disposed ?? 0; }
		other() { return this.env.LENDER.getByName("other"); }
	}
	export class Borrower extends DurableObject {
		n = 0;
		get lender() { return this.env.LENDER.getByName("lender"); }
		async several() {
			const count = await this.lender.count();
			const all = await Promise.all([1, 1, 1, 1, 1].map((n) => count.add(n)));
			return [all, await this.lender.count().add(10)];
		}
		async callback() {
			await this.ctx.storage.put("here", "mine");
			const seen = await this.lender.twice(async (n) => (await this.ctx.storage.get("here")) + n + ++this.n);
			return [seen, this.n];
		}
		async fails() {
			const count = await this.lender.count();
			return [await caught(count.fail()), await caught(this.lender.use(() => { throw new RangeError("in a callback"); }))];
		}
		async reset() {
			const count = await this.lender.count();
			return [await caught(count.reset()), await caught(count.add(1)), typeof (await this.lender.ended())];
		}
		async disposed() {
			const before = await this.lender.ended();
			{
				const count = await this.lender.count();
				await count.add(0);
				count[Symbol.dispose]();
			}
			await scheduler.wait(1);
			return (await this.lender.ended()) - before;
		}
		async kept() {
			await this.lender.keep(() => ++this.n + 100);
			return [await this.lender.kept_(), await this.lender.kept_()];
		}
		async pass() { return [await (await this.lender.other()).ended(), await this.lender.use((s) => s.ended(), this.env.LENDER.getByName("x"))]; }
		async hold(ms) {
			const count = await this.lender.count(), born = await count.born();
			await scheduler.wait(ms);
			return (await count.born()) === born;
		}
		async release(ms) {
			const count = await this.lender.count(), born = await count.born();
			count[Symbol.dispose]();
			await scheduler.wait(ms);
			return (await this.lender.count().born()) === born;
		}
	}
	export default {};
`

// Targets and functions cross between the objects of a host. A call of one is an event of the object that has it.
func TestRPCBetweenObjects(t *testing.T) {
	t.Parallel()
	bubbleAt(t, "2026-08-20", lending, []string{"Lender", "Borrower"}, func(w *world) {
		w.want("Borrower", "several", "[[1, 2, 3, 4, 5], 15]")
		w.want("Borrower", "callback", `[["mine11", "mine22"], 2]`)
		w.want("Borrower", "fails", `["RangeError: in a target code,durableObjectId,remote", `+
			`"RangeError: in a callback durableObjectId,remote"]`)
		w.want("Borrower", "disposed", "1")
		w.want("Borrower", "kept", "[103, 104]")
		w.want("Borrower", "pass", "[0, 0]")
		w.want("Borrower", "reset", `["Error: enough durableObjectId,durableObjectReset,remote", `+
			`"Error: The execution context which hosts this callback is no longer running. ", "number"]`)
	})
}

// A stub that is held keeps its object; one that was disposed of does not.
func TestRPCStubsKeepObjects(t *testing.T) {
	t.Parallel()
	bubble(t, lending, []string{"Lender", "Borrower"}, func(w *world) {
		held := 30 * time.Second
		w.want("Borrower", "release", "false", held.Milliseconds())
		w.want("Borrower", "hold", "true", held.Milliseconds())
	})
}
