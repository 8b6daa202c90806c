// Events, targets and abort signals.
(function (host, use) {
  const { setTimer, reportError, clone } = host;
  const aborted = () => new (use("dom").DOMException)("The operation was aborted", "AbortError");
  const timedOut = () => new (use("dom").DOMException)("The operation was aborted due to timeout", "TimeoutError");
  const enumerable = (C, names) => {
    for (const name of names) Object.defineProperty(C.prototype, name, { enumerable: true });
    Object.defineProperty(C.prototype, Symbol.toStringTag, { value: C.name, configurable: true });
    last(C);
  };
  // last has the constructor be the prototype's last property, as workerd's classes have it.
  const last = (C) => {
    delete C.prototype.constructor;
    Object.defineProperty(C.prototype, "constructor", { value: C, writable: true, configurable: true });
  };
  const needArguments = (given, count, what, type) => {
    if (given < count) {
      throw new TypeError(
        `Failed to ${what}: ${what.startsWith("construct") ? "constructor " : ""}parameter ${given + 1} is not of ` +
          `type '${type}'.`,
      );
    }
  };

  // What only this file may change of an event.
  let begin, end, stopped;
  class Event {
    #type;
    #bubbles;
    #cancelable;
    #composed;
    #target = undefined;
    #current = undefined;
    #phase = 0;
    #prevented = false;
    #stop = false;
    #passive = false;
    #dispatching = false;
    constructor(type, init) {
      needArguments(arguments.length, 1, "construct 'Event'", "string");
      this.#type = String(type);
      this.#bubbles = !!init?.bubbles;
      this.#cancelable = !!init?.cancelable;
      this.#composed = !!init?.composed;
    }
    static {
      begin = (e, target) => {
        if (e.#dispatching)
          throw new (use("dom").DOMException)("The event is already being dispatched.", "InvalidStateError");
        e.#dispatching = true;
        e.#target = e.#current = target;
        e.#phase = 2;
      };
      end = (e) => {
        e.#dispatching = false;
        e.#current = undefined;
        e.#phase = 0;
        e.#stop = false;
        return !e.#prevented;
      };
      stopped = (e, passive) => {
        e.#passive = passive;
        return e.#stop;
      };
    }
    get type() {
      return this.#type;
    }
    get eventPhase() {
      return this.#phase;
    }
    get composed() {
      return this.#composed;
    }
    get bubbles() {
      return this.#bubbles;
    }
    get cancelable() {
      return this.#cancelable;
    }
    get defaultPrevented() {
      return this.#prevented;
    }
    get returnValue() {
      return !this.#prevented;
    }
    get currentTarget() {
      return this.#current;
    }
    get target() {
      return this.#target;
    }
    get srcElement() {
      return this.#target;
    }
    get timeStamp() {
      return 0;
    }
    get isTrusted() {
      return false;
    }
    get cancelBubble() {
      return this.#stop;
    }
    set cancelBubble(v) {
      if (v) this.#stop = true;
    }
    composedPath() {
      return this.#dispatching ? [this.#target] : [];
    }
    preventDefault() {
      if (!this.#passive) this.#prevented = true; // like workerd, whether it can be cancelled or not
    }
    stopPropagation() {}
    stopImmediatePropagation() {
      this.#stop = true;
    }
  }
  enumerable(Event, [
    "type",
    "target",
    "srcElement",
    "currentTarget",
    "eventPhase",
    "bubbles",
    "cancelable",
    "composed",
    "defaultPrevented",
    "returnValue",
    "isTrusted",
    "timeStamp",
    "cancelBubble",
    "composedPath",
    "preventDefault",
    "stopPropagation",
    "stopImmediatePropagation",
  ]);
  const phases = { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 };
  for (const name of Object.keys(phases)) {
    Object.defineProperty(Event, name, { value: phases[name], enumerable: true });
    Object.defineProperty(Event.prototype, name, { value: phases[name], enumerable: true });
  }

  class EventTarget {
    #listeners = null;
    addEventListener(type, listener, options) {
      needArguments(
        arguments.length,
        2,
        "execute 'addEventListener' on 'EventTarget'",
        arguments.length ? "function or HandlerObject" : "string",
      );
      if (listener === null || listener === undefined) return;
      type = String(type);
      const once = typeof options === "object" && !!options?.once;
      const passive = typeof options === "object" && !!options?.passive;
      const signal = typeof options === "object" ? options?.signal : undefined;
      if (signal?.aborted) return;
      this.#listeners ??= new Map();
      let list = this.#listeners.get(type);
      if (!list) this.#listeners.set(type, (list = []));
      if (list.some((l) => l.listener === listener)) return;
      list.push({ listener, once, passive, removed: false });
      if (signal) signal.addEventListener("abort", () => this.removeEventListener(type, listener), { once: true });
    }
    removeEventListener(type, listener) {
      needArguments(
        arguments.length,
        2,
        "execute 'removeEventListener' on 'EventTarget'",
        arguments.length ? "function or HandlerObject" : "string",
      );
      const list = this.#listeners?.get(String(type));
      const at = list ? list.findIndex((l) => l.listener === listener) : -1;
      if (at >= 0) list.splice(at, 1)[0].removed = true;
    }
    dispatchEvent(event) {
      if (!(event instanceof Event)) {
        throw new TypeError("Failed to execute 'dispatchEvent' on 'EventTarget': parameter 1 is not of type 'Event'.");
      }
      begin(event, this);
      for (const l of [...(this.#listeners?.get(event.type) ?? [])]) {
        if (l.removed) continue;
        if (l.once) this.removeEventListener(event.type, l.listener);
        stopped(event, l.passive);
        try {
          if (typeof l.listener === "function") l.listener.call(this, event);
          else l.listener.handleEvent?.(event);
        } catch (e) {
          end(event);
          throw e;
        }
        if (stopped(event, false)) break;
      }
      return end(event);
    }
  }
  enumerable(EventTarget, ["addEventListener", "removeEventListener", "dispatchEvent"]);

  // handler defines an attribute like onabort.
  const handler = (C, type) => {
    const set = new WeakMap();
    Object.defineProperty(C.prototype, "on" + type, {
      get() {
        return set.get(this)?.f ?? null;
      },
      set(f) {
        const old = set.get(this);
        if (old) old.f = typeof f === "function" ? f : null;
        else if (typeof f === "function") {
          const slot = { f };
          set.set(this, slot);
          this.addEventListener(type, (e) => slot.f?.call(this, e));
        }
      },
      enumerable: true,
      configurable: true,
    });
  };

  const withFields = (name, fields) => {
    const C = {
      [name]: class extends Event {
        #values = {};
        constructor(type, init = {}) {
          needArguments(arguments.length, 1, `construct '${name}'`, "string");
          super(type, init);
          for (const f of Object.keys(fields)) this.#values[f] = init?.[f] ?? fields[f];
        }
        static read(e, f) {
          return e.#values[f];
        }
      },
    }[name];
    const read = C.read;
    delete C.read;
    for (const f of Object.keys(fields)) {
      Object.defineProperty(C.prototype, f, {
        get() {
          return read(this, f);
        },
        enumerable: true,
        configurable: true,
      });
    }
    Object.defineProperty(C.prototype, Symbol.toStringTag, { value: name, configurable: true });
    return C;
  };
  // Events of scripts that listen for them instead of exporting handlers.
  class ExtendableEvent extends Event {
    #ctx;
    constructor(type, ctx) {
      super(type);
      if (!ctx?.waitUntil) throw new TypeError("Illegal constructor");
      this.#ctx = ctx;
    }
    waitUntil(promise) {
      this.#ctx.waitUntil(promise);
    }
  }
  enumerable(ExtendableEvent, ["waitUntil"]);
  let answerOf;
  class FetchEvent extends ExtendableEvent {
    #answer;
    #answered = false;
    constructor(request, ctx) {
      super("fetch", ctx);
      Object.defineProperty(this, "request", { value: request, enumerable: true });
    }
    static {
      answerOf = (e) => (e.#answered ? e.#answer : undefined);
    }
    respondWith(promise) {
      if (this.#answered) {
        throw new (use("dom").DOMException)(
          "FetchEvent.respondWith() has already been called; it can only be called once.",
          "InvalidStateError",
        );
      }
      this.#answered = true;
      this.#answer = promise;
      this.stopImmediatePropagation();
    }
    passThroughOnException() {}
  }
  enumerable(FetchEvent, ["respondWith", "passThroughOnException"]);
  class ScheduledEvent extends ExtendableEvent {
    #controller;
    constructor(controller, ctx) {
      super("scheduled", ctx);
      this.#controller = controller;
      Object.defineProperty(this, "scheduledTime", { value: controller.scheduledTime, enumerable: true });
      Object.defineProperty(this, "cron", { value: controller.cron, enumerable: true });
    }
    noRetry() {
      this.#controller.noRetry();
    }
  }
  enumerable(ScheduledEvent, ["noRetry"]);
  // deliver dispatches a handler's event, and gives what the handler would have returned.
  const deliver = (target, type, argument, ctx) => {
    const e = type === "fetch" ? new FetchEvent(argument, ctx) : new ScheduledEvent(argument, ctx);
    target.dispatchEvent(e);
    return type === "fetch" ? answerOf(e) : undefined;
  };

  const CustomEvent = withFields("CustomEvent", { detail: null });
  const ErrorEvent = withFields("ErrorEvent", { message: "", filename: "", lineno: 0, colno: 0, error: undefined });
  const MessageEvent = withFields("MessageEvent", {
    data: undefined,
    origin: "",
    lastEventId: "",
    source: null,
    ports: [],
  });
  const CloseEvent = withFields("CloseEvent", { code: 0, reason: "", wasClean: false });
  const PromiseRejectionEvent = withFields("PromiseRejectionEvent", { promise: undefined, reason: undefined });

  let abort;
  const secret = {};
  class AbortSignal extends EventTarget {
    #aborted = false;
    #reason = undefined;
    #dependents = null;
    constructor(key) {
      if (key !== secret) throw new TypeError("Illegal constructor");
      super();
    }
    static {
      abort = (s, reason) => {
        if (s.#aborted) return;
        s.#aborted = true;
        s.#reason = reason === undefined ? aborted() : reason;
        const dependents = (s.#dependents ?? []).filter((d) => !d.#aborted);
        for (const d of dependents) {
          d.#aborted = true;
          d.#reason = s.#reason;
        }
        s.#dependents = null;
        s.dispatchEvent(new Event("abort"));
        for (const d of dependents) d.dispatchEvent(new Event("abort"));
      };
    }
    get aborted() {
      return this.#aborted;
    }
    get reason() {
      return this.#reason;
    }
    throwIfAborted() {
      if (this.#aborted) throw this.#reason;
    }
    static abort(reason) {
      const s = new AbortSignal(secret);
      s.#aborted = true;
      s.#reason = reason === undefined ? aborted() : reason;
      return s;
    }
    static timeout(ms) {
      const s = new AbortSignal(secret);
      setTimer(() => abort(s, timedOut()), ms);
      return s;
    }
    static any(signals) {
      const s = new AbortSignal(secret);
      for (const source of signals) {
        if (!(source instanceof AbortSignal)) {
          throw new TypeError("Failed to execute 'any' on 'AbortSignal': parameter 1 is not of type 'Array'.");
        }
        if (source.#aborted) {
          s.#aborted = true;
          s.#reason = source.#reason;
          return s;
        }
      }
      for (const source of signals) (source.#dependents ??= []).push(s);
      return s;
    }
  }
  enumerable(AbortSignal, ["aborted", "reason", "throwIfAborted"]);
  const { throwIfAborted } = AbortSignal.prototype;
  delete AbortSignal.prototype.throwIfAborted;
  handler(AbortSignal, "abort");
  Object.defineProperty(AbortSignal.prototype, "throwIfAborted", {
    value: throwIfAborted,
    writable: true,
    enumerable: true,
    configurable: true,
  });
  last(AbortSignal);

  class AbortController {
    #signal = new AbortSignal(secret);
    get signal() {
      return this.#signal;
    }
    abort(reason) {
      abort(this.#signal, reason);
    }
  }
  enumerable(AbortController, ["signal", "abort"]);

  // wait is scheduler.wait with a signal.
  const wait = (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const stop = () => {
        clearTimeout(id);
        reject(signal.reason);
      };
      const id = setTimer(() => {
        signal.removeEventListener("abort", stop);
        resolve();
      }, ms);
      signal.addEventListener("abort", stop, { once: true });
    });

  // race gives a promise's value, unless a signal is aborted before; stop then ends what the promise is of.
  const race = (promise, signal, stop) =>
    new Promise((resolve, reject) => {
      const abort = () => {
        stop();
        reject(signal.reason);
      };
      if (signal.aborted) return abort();
      signal.addEventListener("abort", abort, { once: true });
      promise.then(
        (v) => {
          resolve(v);
        },
        (e) => {
          reject(e);
        },
      );
    });

  let connect;
  class MessagePort extends EventTarget {
    #peer = null;
    #started = false;
    #closed = false;
    #waiting = [];
    constructor(key) {
      if (key !== secret) throw new TypeError("Illegal constructor");
      super();
    }
    static {
      connect = (a, b) => {
        a.#peer = b;
        b.#peer = a;
      };
    }
    #deliver(data) {
      if (this.#closed) return;
      if (!this.#started) {
        this.#waiting.push(data);
        return;
      }
      queueMicrotask(() => {
        try {
          this.dispatchEvent(new MessageEvent("message", { data }));
        } catch (e) {
          reportError(e);
        }
      });
    }
    postMessage(data) {
      data = clone(data);
      if (!this.#closed) this.#peer?.#deliver(data);
    }
    start() {
      this.#started = true;
      for (const data of this.#waiting.splice(0)) this.#deliver(data);
    }
    close() {
      if (this.#closed) return;
      this.#closed = true;
      const peer = this.#peer;
      this.#peer = null;
      this.dispatchEvent(new Event("close"));
      peer?.close();
    }
  }
  enumerable(MessagePort, ["postMessage", "start", "close"]);
  handler(MessagePort, "message");
  handler(MessagePort, "messageerror");
  handler(MessagePort, "close");
  const onmessage = Object.getOwnPropertyDescriptor(MessagePort.prototype, "onmessage");
  Object.defineProperty(MessagePort.prototype, "onmessage", {
    ...onmessage,
    set(f) {
      onmessage.set.call(this, f);
      this.start();
    },
  });
  class MessageChannel {
    #port1 = new MessagePort(secret);
    #port2 = new MessagePort(secret);
    constructor() {
      connect(this.#port1, this.#port2);
    }
    get port1() {
      return this.#port1;
    }
    get port2() {
      return this.#port2;
    }
  }
  enumerable(MessageChannel, ["port1", "port2"]);

  return {
    Event,
    EventTarget,
    CustomEvent,
    ErrorEvent,
    MessageEvent,
    CloseEvent,
    PromiseRejectionEvent,
    AbortController,
    AbortSignal,
    MessageChannel,
    MessagePort,
    ExtendableEvent,
    FetchEvent,
    ScheduledEvent,
    newSignal: () => new AbortSignal(secret),
    abort,
    wait,
    race,
    deliver,
    rejected: (target, promise, reason) =>
      !target.dispatchEvent(new PromiseRejectionEvent("unhandledrejection", { promise, reason, cancelable: true })),
    isSignal: (v) => v instanceof AbortSignal,
    last, needArguments,
  };
});
