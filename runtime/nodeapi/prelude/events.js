// events.
(function (host, use) {
  const { coded, invalidArgType, outOfRange, check, AbortError } = use("errors");
  const captureSymbol = Symbol.for("nodejs.rejection");
  const errorMonitor = Symbol("events.errorMonitor");
  const { apply } = Reflect;
  let defaultMaxListeners = 10, captureDefault = false;

  function EventEmitter(options) { EventEmitter.init.call(this, options); }
  EventEmitter.prototype._events = undefined;
  EventEmitter.prototype._eventsCount = 0;
  EventEmitter.prototype._maxListeners = undefined;
  EventEmitter.init = function (options) {
    if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
      this._events = { __proto__: null };
      this._eventsCount = 0;
    }
    this._maxListeners = this._maxListeners || undefined;
    if (options?.captureRejections) check.boolean(options.captureRejections, "options.captureRejections");
    const capture = options?.captureRejections ?? captureDefault;
    if (capture) Object.defineProperty(this, captureKey, { value: true, configurable: true, writable: true });
  };
  const captureKey = Symbol("kCapture");
  const limit = (n, name) => {
    check.number(n, name);
    if (n < 0 || n !== n) throw outOfRange(name, ">= 0", n);
    return n;
  };
  const checkListener = (f) => check.function(f, "listener");
  const most = (e) => e._maxListeners ?? defaultMaxListeners;

  const react = (emitter, result, type, args) => {
    const then = result?.then;
    if (typeof then !== "function") return;
    then.call(result, undefined, (error) => queueMicrotask(() => {
      if (typeof emitter[captureSymbol] === "function") emitter[captureSymbol](error, type, ...args);
      else {
        const before = emitter[captureKey];
        emitter[captureKey] = false;
        try { emitter.emit("error", error); } finally { emitter[captureKey] = before; }
      }
    }));
  };
  const add = (emitter, type, f, front) => {
    checkListener(f);
    let events = emitter._events;
    if (events === undefined) {
      events = emitter._events = { __proto__: null };
      emitter._eventsCount = 0;
    } else if (events.newListener !== undefined) {
      emitter.emit("newListener", type, f.listener ?? f);
      events = emitter._events;
    }
    const had = events[type];
    if (had === undefined) {
      events[type] = f;
      ++emitter._eventsCount;
      return emitter;
    }
    if (typeof had === "function") events[type] = front ? [f, had] : [had, f];
    else if (front) had.unshift(f);
    else had.push(f);
    const list = events[type], m = most(emitter);
    if (m > 0 && list.length > m && !list.warned) {
      list.warned = true;
      const w = new Error(`Possible EventEmitter memory leak detected. ${list.length} ${String(type)} listeners added to ` +
        `${host.inspect(emitter, { depth: -1 })}. Use emitter.setMaxListeners() to increase limit`);
      w.name = "MaxListenersExceededWarning";
      w.emitter = emitter;
      w.type = type;
      w.count = list.length;
      use("process").emitWarning(w);
    }
    return emitter;
  };
  const onceWrap = (emitter, type, listener) => {
    checkListener(listener);
    let fired = false;
    const wrapped = (...args) => {
      if (fired) return undefined;
      emitter.removeListener(type, wrapped);
      fired = true;
      return apply(listener, emitter, args);
    };
    wrapped.listener = listener;
    return wrapped;
  };
  const listeners = (emitter, type, unwrap) => {
    const had = emitter._events?.[type];
    if (had === undefined) return [];
    const list = typeof had === "function" ? [had] : had.slice();
    return unwrap ? list.map((f) => f.listener ?? f) : list;
  };
  const define = (name, f) => { EventEmitter.prototype[name] = f; };
  define("setMaxListeners", function setMaxListeners(n) { this._maxListeners = limit(n, "setMaxListeners"); return this; });
  define("getMaxListeners", function getMaxListeners() { return most(this); });
  define("emit", function emit(type, ...args) {
    const events = this._events;
    if (type === "error") {
      if (events?.[errorMonitor] !== undefined) this.emit(errorMonitor, ...args);
      if (events?.error === undefined) {
        const [error] = args;
        if (error instanceof Error) throw error;
        let text;
        try { text = host.inspect(error); } catch { text = String(error); }
        const e = coded(Error, "ERR_UNHANDLED_ERROR", `Unhandled error.${args.length > 0 ? ` (${text})` : " (undefined)"}`);
        e.context = error;
        throw e;
      }
    }
    const had = events?.[type];
    if (had === undefined) return false;
    if (typeof had === "function") {
      const result = apply(had, this, args);
      if (this[captureKey] && result !== undefined && result !== null) react(this, result, type, args);
      return true;
    }
    for (const f of had.slice()) {
      const result = apply(f, this, args);
      if (this[captureKey] && result !== undefined && result !== null) react(this, result, type, args);
    }
    return true;
  });
  define("addListener", function addListener(type, f) { return add(this, type, f, false); });
  EventEmitter.prototype.on = EventEmitter.prototype.addListener;
  define("prependListener", function prependListener(type, f) { return add(this, type, f, true); });
  define("once", function once(type, f) { return this.on(type, onceWrap(this, type, f)); });
  define("prependOnceListener", function prependOnceListener(type, f) {
    return this.prependListener(type, onceWrap(this, type, f));
  });
  define("removeListener", function removeListener(type, f) {
    checkListener(f);
    const events = this._events, had = events?.[type];
    if (had === undefined) return this;
    if (had === f || had.listener === f) {
      this._eventsCount -= 1;
      if (this._eventsCount === 0) this._events = { __proto__: null };
      else delete events[type];
      if (events.removeListener) this.emit("removeListener", type, had.listener ?? f);
    } else if (typeof had !== "function") {
      let at = -1;
      for (let n = had.length - 1; n >= 0; n--) if (had[n] === f || had[n].listener === f) { at = n; break; }
      if (at < 0) return this;
      had.splice(at, 1);
      if (had.length === 1) events[type] = had[0];
      if (events.removeListener !== undefined) this.emit("removeListener", type, f);
    }
    return this;
  });
  EventEmitter.prototype.off = EventEmitter.prototype.removeListener;
  define("removeAllListeners", function removeAllListeners(type) {
    const events = this._events;
    if (events === undefined) return this;
    if (events.removeListener === undefined) {
      if (arguments.length === 0) {
        this._events = { __proto__: null };
        this._eventsCount = 0;
      } else if (events[type] !== undefined && --this._eventsCount === 0) this._events = { __proto__: null };
      else delete events[type];
      return this;
    }
    if (arguments.length === 0) {
      for (const key of Reflect.ownKeys(events)) if (key !== "removeListener") this.removeAllListeners(key);
      this.removeAllListeners("removeListener");
      return this;
    }
    for (const f of listeners(this, type, false).reverse()) this.removeListener(type, f);
    return this;
  });
  define("listeners", function (type) { return listeners(this, type, true); });
  define("rawListeners", function rawListeners(type) { return listeners(this, type, false); });
  define("listenerCount", function listenerCount(type, f) {
    const list = listeners(this, type, false);
    return f ? list.filter((g) => g === f || g.listener === f).length : list.length;
  });
  define("eventNames", function eventNames() { return this._eventsCount > 0 ? Reflect.ownKeys(this._events) : []; });

  const isTarget = (t) => typeof t?.addEventListener === "function";
  const listen = (target, type, f, options) => {
    if (typeof target?.on === "function") target[options?.once ? "once" : "on"](type, f);
    else if (isTarget(target)) target.addEventListener(type, f, options);
    else invalidArgType("emitter", "EventEmitter", target);
  };
  const unlisten = (target, type, f) => {
    if (typeof target?.removeListener === "function") target.removeListener(type, f);
    else target.removeEventListener(type, f);
  };
  const once = async function once(target, type, options = {}) {
    const { signal } = options ?? {};
    check.signal(signal, "options.signal");
    if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
    return new Promise((resolve, reject) => {
      const failed = (e) => { unlisten(target, type, resolved); end(); reject(e); };
      const aborted = () => {
        unlisten(target, type, resolved);
        unlisten(target, "error", failed);
        reject(new AbortError(undefined, { cause: signal.reason }));
      };
      const end = () => signal?.removeEventListener("abort", aborted);
      const resolved = (...args) => {
        if (typeof target.removeListener === "function") target.removeListener("error", failed);
        end();
        resolve(args);
      };
      listen(target, type, resolved, { once: true });
      if (type !== "error" && typeof target.once === "function") target.once("error", failed);
      signal?.addEventListener("abort", aborted, { once: true });
    });
  };
  const on = function on(target, type, options = {}) {
    const { signal } = options ?? {};
    check.signal(signal, "options.signal");
    if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
    const ready = [], waiting = [];
    let error = null, finished = false;
    const event = (...args) => {
      const w = waiting.shift();
      if (w) w.resolve({ value: args, done: false });
      else ready.push(args);
    };
    const failed = (e) => {
      const w = waiting.shift();
      if (w) w.reject(e);
      else error = e;
      close();
    };
    const aborted = () => failed(new AbortError(undefined, { cause: signal.reason }));
    const close = () => {
      unlisten(target, type, event);
      if (type !== "error" && typeof target.on === "function") unlisten(target, "error", failed);
      for (const name of options.close ?? []) unlisten(target, name, close);
      signal?.removeEventListener("abort", aborted);
      finished = true;
      for (const w of waiting.splice(0)) w.resolve({ value: undefined, done: true });
      return Promise.resolve({ value: undefined, done: true });
    };
    listen(target, type, event);
    if (type !== "error" && typeof target.on === "function") listen(target, "error", failed);
    for (const name of options.close ?? []) listen(target, name, close);
    signal?.addEventListener("abort", aborted, { once: true });
    return {
      next() {
        if (ready.length > 0) return Promise.resolve({ value: ready.shift(), done: false });
        if (error) { const p = Promise.reject(error); error = null; return p; }
        if (finished) return Promise.resolve({ value: undefined, done: true });
        return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
      },
      return() { return close(); },
      throw(e) {
        if (!(e instanceof Error)) invalidArgType("EventEmitter.AsyncIterator", "Error", e);
        failed(e);
        return Promise.reject(e);
      },
      [Symbol.asyncIterator]() { return this; },
    };
  };
  class EventEmitterAsyncResource extends EventEmitter {
    #resource;
    constructor(options) {
      super(options);
      const { AsyncResource } = use("async_hooks");
      this.#resource = new AsyncResource(typeof options === "string" ? options : options?.name ?? new.target.name);
    }
    emit(type, ...args) { return this.#resource.runInAsyncScope(super.emit, this, type, ...args); }
    emitDestroy() { this.#resource.emitDestroy(); }
    get asyncResource() { return this.#resource; }
    get asyncId() { return this.#resource.asyncId(); }
    get triggerAsyncId() { return this.#resource.triggerAsyncId(); }
  }
  Object.assign(EventEmitter, {
    EventEmitter, once, on, errorMonitor, captureRejectionSymbol: captureSymbol, usingDomains: false,
    EventEmitterAsyncResource,
    listenerCount: (e, type) => e.listenerCount(type),
    getEventListeners(target, type) { return typeof target.listeners === "function" ? target.listeners(type) : []; },
    getMaxListeners(target) { return typeof target?.getMaxListeners === "function" ? target.getMaxListeners() : defaultMaxListeners; },
    setMaxListeners(n = defaultMaxListeners, ...targets) {
      limit(n, "setMaxListeners");
      if (targets.length === 0) defaultMaxListeners = n;
      for (const t of targets) if (typeof t.setMaxListeners === "function") t.setMaxListeners(n);
    },
    addAbortListener(signal, listener) {
      if (signal === undefined) invalidArgType("signal", "AbortSignal", signal);
      check.signal(signal, "signal");
      check.function(listener, "listener");
      if (signal.aborted) queueMicrotask(() => listener());
      else signal.addEventListener("abort", listener, { once: true });
      return { [Symbol.dispose]() { signal.removeEventListener("abort", listener); } };
    },
  });
  Object.defineProperties(EventEmitter, {
    defaultMaxListeners: {
      enumerable: true, get: () => defaultMaxListeners, set(n) { defaultMaxListeners = limit(n, "defaultMaxListeners"); },
    },
    captureRejections: {
      enumerable: true, get: () => captureDefault,
      set(v) { check.boolean(v, "EventEmitter.captureRejections"); captureDefault = v; },
    },
  });
  return EventEmitter;
})
