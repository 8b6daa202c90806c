// diagnostics_channel.
(function (host, use) {
  const { invalidArgType, check } = use("errors");
  const channels = new Map();
  const attempt = (f, ...args) => {
    try { f(...args); } catch (e) { queueMicrotask(() => { throw e; }); }
  };
  class Channel {
    #subscribers = [];
    #stores = new Map();
    constructor(name) { this.name = name; }
    get hasSubscribers() { return this.#subscribers.length > 0 || this.#stores.size > 0; }
    subscribe(f) {
      check.function(f, "subscription");
      this.#subscribers = [...this.#subscribers, f];
    }
    unsubscribe(f) {
      const at = this.#subscribers.indexOf(f);
      if (at < 0) return false;
      this.#subscribers = this.#subscribers.filter((_, n) => n !== at);
      return true;
    }
    bindStore(store, transform) { this.#stores.set(store, transform); }
    unbindStore(store) { return this.#stores.delete(store); }
    publish(message) { for (const f of this.#subscribers) attempt(f, message, this.name); }
    runStores(message, f, self, ...args) {
      let run = () => { this.publish(message); return Reflect.apply(f, self, args); };
      for (const [store, transform] of this.#stores) {
        const inner = run;
        run = () => {
          let value = message;
          if (transform) {
            try { value = transform(message); } catch (e) { queueMicrotask(() => { throw e; }); return inner(); }
          }
          return store.run(value, inner);
        };
      }
      return run();
    }
  }
  const channel = (name) => {
    let c = channels.get(name);
    if (c) return c;
    if (typeof name !== "string" && typeof name !== "symbol") invalidArgType("channel", ["string", "symbol"], name);
    c = new Channel(name);
    channels.set(name, c);
    return c;
  };
  const events = ["start", "end", "asyncStart", "asyncEnd", "error"];
  class TracingChannel {
    constructor(from) {
      for (const event of events) {
        this[event] = typeof from === "string" ? channel(`tracing:${from}:${event}`) : from[event];
      }
    }
    get hasSubscribers() { return events.some((e) => this[e].hasSubscribers); }
    subscribe(handlers) { for (const e of events) if (handlers[e]) this[e].subscribe(handlers[e]); }
    unsubscribe(handlers) {
      let all = true;
      for (const e of events) if (handlers[e] && !this[e].unsubscribe(handlers[e])) all = false;
      return all;
    }
    traceSync(f, context = {}, self, ...args) {
      return this.start.runStores(context, () => {
        try {
          const result = Reflect.apply(f, self, args);
          context.result = result;
          return result;
        } catch (e) {
          context.error = e;
          this.error.publish(context);
          throw e;
        } finally { this.end.publish(context); }
      });
    }
    tracePromise(f, context = {}, self, ...args) {
      const settle = (failed) => (value) => {
        if (failed) { context.error = value; this.error.publish(context); } else context.result = value;
        this.asyncStart.publish(context);
        this.asyncEnd.publish(context);
        if (failed) throw value;
        return value;
      };
      return this.start.runStores(context, () => {
        try {
          return Promise.resolve(Reflect.apply(f, self, args)).then(settle(false), settle(true));
        } catch (e) {
          context.error = e;
          this.error.publish(context);
          throw e;
        } finally { this.end.publish(context); }
      });
    }
    traceCallback(f, position = -1, context = {}, self, ...args) {
      const callback = args.at(position);
      check.function(callback, "callback");
      const channels = this;
      args.splice(position, 1, function (error, result) {
        if (error) { context.error = error; channels.error.publish(context); } else context.result = result;
        return channels.asyncStart.runStores(context, () => {
          try { return Reflect.apply(callback, this, [error, result]); } finally { channels.asyncEnd.publish(context); }
        });
      });
      return this.start.runStores(context, () => {
        try { return Reflect.apply(f, self, args); } catch (e) {
          context.error = e;
          this.error.publish(context);
          throw e;
        } finally { this.end.publish(context); }
      });
    }
  }
  return {
    channel, Channel, TracingChannel,
    hasSubscribers: (name) => channels.get(name)?.hasSubscribers ?? false,
    subscribe: (name, f) => channel(name).subscribe(f),
    unsubscribe: (name, f) => channel(name).unsubscribe(f),
    tracingChannel: (from) => new TracingChannel(from),
  };
})
