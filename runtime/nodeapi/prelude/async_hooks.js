// async_hooks. What a storage holds is carried along by the isolate.
(function (host, use) {
  const { check } = use("errors");
  class AsyncLocalStorage {
    constructor(options) {
      if (options?.defaultValue !== undefined) Object.defineProperty(this, defaultKey, { value: options.defaultValue });
      if (options?.name !== undefined) Object.defineProperty(this, "name", { value: String(options.name) });
    }
    run(store, f, ...args) { return host.runStore(this, store, true, f, undefined, args); }
    exit(f, ...args) { return host.runStore(this, undefined, false, f, undefined, args); }
    getStore() { return host.getStore(this, this[defaultKey]); }
    // Like workerd.
    enterWith() { throw new Error("asyncLocalStorage.enterWith() is not implemented"); }
    disable() { throw new Error("asyncLocalStorage.disable() is not implemented"); }
    static bind(f) {
      check.function(f, "fn");
      const stores = host.captureStores();
      return Object.defineProperty(function (...args) { return host.runStores(stores, f, this, args); },
        "length", { value: f.length, configurable: true });
    }
    static snapshot() {
      const stores = host.captureStores();
      return function (f, ...args) { return host.runStores(stores, f, this, args); };
    }
  }
  const defaultKey = Symbol("default");
  let last = 1;
  class AsyncResource {
    #stores = host.captureStores();
    #id = ++last;
    #trigger;
    constructor(type, options) {
      check.string(type, "type");
      this.#trigger = typeof options === "number" ? options : options?.triggerAsyncId ?? 0;
    }
    runInAsyncScope(f, self, ...args) { return host.runStores(this.#stores, f, self, args); }
    bind(f, self) {
      check.function(f, "fn");
      const resource = this;
      const bound = self === undefined ? function (...args) { return resource.runInAsyncScope(f, this, ...args); } :
        (...args) => resource.runInAsyncScope(f, self, ...args);
      return Object.defineProperties(bound, {
        length: { value: f.length, configurable: true }, asyncResource: { value: this, enumerable: true, writable: true },
      });
    }
    emitDestroy() { return this; }
    asyncId() { return this.#id; }
    triggerAsyncId() { return this.#trigger; }
    static bind(f, type, self) { return new AsyncResource(type || f.name || "bound-anonymous-fn").bind(f, self); }
  }
  const hook = { enable() { return this; }, disable() { return this; } };
  return {
    AsyncLocalStorage, AsyncResource, createHook: () => ({ ...hook }), executionAsyncId: () => 0, triggerAsyncId: () => 0,
    executionAsyncResource: () => ({}), asyncWrapProviders: { __proto__: null, NONE: 0 },
  };
})
