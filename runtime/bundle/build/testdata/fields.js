// What class fields do, in lines that every engine prints alike. fields.txt is what V8 prints.
const out = [];
const say = (...all) => out.push(all.map(String).join(" "));
let keys = 0;
const key = () => "k" + ++keys;
class Base {
	constructor() { this.log = ["base"]; this.made(); }
	made() { this.log.push("made " + this.own); }
	set odd(v) { say("the setter is not called", v); }
	kind() { return "base"; }
}
class Derived extends Base {
	own = this.log.push("own");
	odd = 1;
	get = (name) => this.#values[name] ?? "none";
	set = (name, value) => { this.#values[name] = value; return this; };
	async = async () => { await null; return this.own; };
	static = "s";
	static get = 4;
	static set = () => Derived.get;
	static async = async () => Derived.#count;
	static #count = 7;
	static self = this;
	static of = class {};
	[key()] = keys;
	[key()] = keys;
	"a b" = 2;
	3 = "three";
	nothing;
	undefined = undefined;
	arrow = () => super.kind();
	target = (() => new.target === undefined)();
	#values = { a: 1 };
	#private() { return "private " + this.own; }
	get #both() { return this.#values.both; }
	set #both(v) { this.#values.both = v * 2; }
	static { say("static block", this.get, Derived.#count); }
	static is(o) { return #values in o; }
	both(v) { this.#both = v; this.#both += 1; return this.#both; }
	call() { return this.#private(); }
	inner() {
		return new (class Inner { #values = "inner"; see() { return this.#values; } })().see();
	}
	kind() { return "derived"; }
}
const d = new Derived();
say(d.log.join(), d.get("a"), d.get("b"), d.set("b", 5).get("b"), await d.async(), d.static);
say(Derived.get, Derived.set(), await Derived.async(), Derived.self === Derived, Derived.of.name, Derived.set.name);
say(Object.keys(d).join(), d.k1, d.k2, keys, d[3], d["a b"], "nothing" in d, d.nothing);
say(d.arrow(), d.target, d.both(3), d.call(), d.inner(), Derived.is(d), Derived.is({}), d.get.name, d.async.name);
try { Derived.prototype.call.call({}); } catch (err) { say(err.name); }
const descriptor = Object.getOwnPropertyDescriptor(d, "odd");
say(descriptor.value, descriptor.writable, descriptor.enumerable, descriptor.configurable);
class Frozen { constructor() { return Object.freeze(this); } }
try { new (class extends Frozen { late = 1; })(); } catch (err) { say(err.name); }
let get = 1, async = 2;
get = 3;
async = 4;
say(get, async, `
  get = 5;
  async = 6`.length);
const mixin = (base) => class extends base { #secret = 9; read() { return this.#secret; } };
say(new (mixin(mixin(Object)))().read(), new (mixin(Array))().read());
export default out.join("\n");
