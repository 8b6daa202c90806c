// timers, over the web's functions.
(function (host, use) {
  const { AbortError, check } = use("errors");
  const custom = Symbol.for("nodejs.util.promisify.custom");
  const web = {
    setTimeout: host.web_setTimeout, clearTimeout: host.web_clearTimeout,
    setInterval: host.web_setInterval, clearInterval: host.web_clearInterval,
  };
  class Timeout {
    #f; #delay; #args; #repeat; #id; #referenced = true;
    constructor(f, delay, args, repeat) {
      this.#f = f;
      this.#delay = delay;
      this.#args = args;
      this.#repeat = repeat;
      this.#start();
    }
    #start() { this.#id = (this.#repeat ? web.setInterval : web.setTimeout)((...args) => this.#f(...args), this.#delay, ...this.#args); }
    refresh() {
      if (this.#id !== undefined) {
        web.clearTimeout(this.#id);
        this.#start();
      }
      return this;
    }
    ref() { this.#referenced = true; return this; }
    unref() { this.#referenced = false; return this; }
    hasRef() { return this.#referenced; }
    close() {
      if (this.#id !== undefined) web.clearTimeout(this.#id);
      this.#id = undefined;
      return this;
    }
    [Symbol.toPrimitive]() { return this.#id; }
    [Symbol.dispose]() { this.close(); }
  }
  class Immediate {
    #id; #referenced = true;
    constructor(f, args) { this.#id = web.setTimeout(f, 0, ...args); }
    ref() { this.#referenced = true; return this; }
    unref() { this.#referenced = false; return this; }
    hasRef() { return this.#referenced; }
    close() { web.clearTimeout(this.#id); }
    [Symbol.dispose]() { this.close(); }
  }
  const clear = (t) => {
    if (t instanceof Timeout || t instanceof Immediate) t.close();
    else if (typeof t === "number") web.clearTimeout(t);
    else if (typeof t === "string" && t.trim() !== "") web.clearTimeout(Number(t));
  };
  const delayOf = (ms) => {
    ms = Number(ms);
    return ms >= 1 && ms <= 2147483647 ? Math.trunc(ms) : 1;
  };
  const setTimeout = function setTimeout(f, delay, ...args) {
    check.function(f, "callback");
    return new Timeout(f, delayOf(delay), args, false);
  };
  const setInterval = function setInterval(f, delay, ...args) {
    check.function(f, "callback");
    return new Timeout(f, delayOf(delay), args, true);
  };
  const setImmediate = function setImmediate(f, ...args) {
    check.function(f, "callback");
    return new Immediate(f, args);
  };
  // abortable makes a promise that a signal rejects.
  const abortable = (signal, start) => {
    try { check.signal(signal, "options.signal"); } catch (e) { return Promise.reject(e); }
    if (signal?.aborted) return Promise.reject(new AbortError(undefined, { cause: signal.reason }));
    return new Promise((resolve, reject) => {
      const stop = start((v) => { signal?.removeEventListener("abort", aborted); resolve(v); });
      const aborted = () => { stop(); reject(new AbortError(undefined, { cause: signal.reason })); };
      signal?.addEventListener("abort", aborted, { once: true });
    });
  };
  const promises = {
    setTimeout(delay, value, options) {
      return abortable(options?.signal, (done) => {
        const t = setTimeout(() => done(value), delay);
        return () => t.close();
      });
    },
    setImmediate(value, options) {
      return abortable(options?.signal, (done) => {
        const t = setImmediate(() => done(value));
        return () => t.close();
      });
    },
    setInterval(delay, value, options) {
      const { signal } = options ?? {};
      check.signal(signal, "options.signal");
      let due = 0, wake, ended = false;
      const t = setInterval(() => { due++; wake?.(); }, delay);
      const aborted = () => wake?.();
      signal?.addEventListener("abort", aborted, { once: true });
      const finish = () => { ended = true; t.close(); signal?.removeEventListener("abort", aborted); };
      return {
        async next() {
          if (ended) return { value: undefined, done: true };
          if (due === 0 && !signal?.aborted) await new Promise((resolve) => { wake = resolve; });
          wake = undefined;
          if (signal?.aborted) { finish(); throw new AbortError(undefined, { cause: signal.reason }); }
          due--;
          return { value, done: false };
        },
        async return() { finish(); return { value: undefined, done: true }; },
        [Symbol.asyncIterator]() { return this; },
      };
    },
  };
  promises.scheduler = {
    wait: (delay, options) => promises.setTimeout(delay, undefined, options), yield: () => promises.setImmediate(),
  };
  Object.defineProperty(setTimeout, custom, { enumerable: true, get: () => promises.setTimeout });
  Object.defineProperty(setImmediate, custom, { enumerable: true, get: () => promises.setImmediate });
  return {
    setTimeout, clearTimeout: function clearTimeout(t) { clear(t); }, setInterval,
    clearInterval: function clearInterval(t) { clear(t); }, setImmediate,
    clearImmediate: function clearImmediate(t) { clear(t); }, promises,
    active: () => {}, unenroll: () => {}, enroll: () => {}, _unrefActive: () => {},
  };
})
