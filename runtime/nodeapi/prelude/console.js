// console: the global one, and a class that writes to streams.
(function (host, use) {
  const { check } = use("errors");
  class Console {
    #out; #err; #group = ""; #counts = new Map(); #times = new Map();
    constructor(stdout, stderr = stdout) {
      if (typeof stdout === "object" && stdout !== null && typeof stdout.write !== "function") ({ stdout, stderr = stdout } = stdout);
      check.function(stdout?.write, "stdout.write");
      this.#out = stdout;
      this.#err = stderr;
      for (const name of Object.getOwnPropertyNames(Console.prototype)) {
        if (name !== "constructor") this[name] = this[name].bind(this);
      }
    }
    #print(to, args) {
      to.write(host.format(...args).replace(/^/gm, this.#group) + "\n");
    }
    log(...args) { this.#print(this.#out, args); }
    info(...args) { this.#print(this.#out, args); }
    debug(...args) { this.#print(this.#out, args); }
    table(...args) { this.#print(this.#out, args); }
    error(...args) { this.#print(this.#err, args); }
    warn(...args) { this.#print(this.#err, args); }
    trace(...args) { this.#print(this.#err, ["Trace: " + host.format(...args)]); }
    dir(value, options) { this.#print(this.#out, [host.inspect(value, options)]); }
    dirxml(...args) { this.log(...args); }
    assert(ok, ...args) {
      if (ok) return;
      if (typeof args[0] === "string") args[0] = `Assertion failed: ${args[0]}`;
      else args.unshift("Assertion failed");
      this.warn(...args);
    }
    group(...args) { if (args.length > 0) this.log(...args); this.#group += "  "; }
    groupCollapsed(...args) { this.group(...args); }
    groupEnd() { this.#group = this.#group.slice(2); }
    count(label = "default") {
      const n = (this.#counts.get(label) ?? 0) + 1;
      this.#counts.set(label, n);
      this.log(`${label}: ${n}`);
    }
    countReset(label = "default") { this.#counts.delete(label); }
    time(label = "default") { this.#times.set(label, performance.now()); }
    timeLog(label = "default", ...args) { this.log(`${label}: ${(performance.now() - this.#times.get(label)).toFixed(3)}ms`, ...args); }
    timeEnd(label = "default") { this.timeLog(label); this.#times.delete(label); }
  }
  const out = Object.create(globalThis.console);
  for (const name of Object.keys(globalThis.console)) out[name] = globalThis.console[name];
  out.Console = Console;
  return out;
})
