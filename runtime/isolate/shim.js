// What the engine lacks or does wrongly, repaired from within. It runs first in every isolate and yields a function
// that takes the host's. What later code needs of the language is taken here, since a script may replace any of it.
(function (host) {
  const global = globalThis;
  const { apply, construct, ownKeys, getPrototypeOf } = Reflect;
  const { evaluationAllowed, stack: layOut, transfer, detached, weakRefs, expandPattern } = host;
  const { checkProxy, checkPattern, checkSource, checkDigits, boundConstructor, maxBufferBytes, maxList } = host;
  const { then } = Promise.prototype;

  const define = (target, members) => {
    for (const name of ownKeys(members)) {
      if (!Object.prototype.hasOwnProperty.call(target, name)) {
        const d = Object.getOwnPropertyDescriptor(members, name);
        d.enumerable = false;
        Object.defineProperty(target, name, d);
      }
    }
  };
  const symbol = (name) => {
    if (!(name in Symbol)) Object.defineProperty(Symbol, name, { value: Symbol("Symbol." + name) });
  };
  symbol("asyncIterator");
  symbol("dispose");
  symbol("asyncDispose");

  // Built-ins that the engine lacks.
  define(Promise, {
    withResolvers() {
      let resolve, reject;
      const promise = new this((a, b) => {
        resolve = a;
        reject = b;
      });
      return { promise, resolve, reject };
    },
    try(f, ...args) {
      return new this((resolve) => resolve(f(...args)));
    },
  });
  define(Object, {
    groupBy(items, f) {
      const out = Object.create(null);
      let n = 0;
      for (const item of items) {
        const key = f(item, n++);
        (out[key] ??= []).push(item);
      }
      return out;
    },
  });
  define(Map, {
    groupBy(items, f) {
      const out = new Map();
      let n = 0;
      for (const item of items) {
        const key = f(item, n++);
        if (out.has(key)) out.get(key).push(item);
        else out.set(key, [item]);
      }
      return out;
    },
  });
  define(Array, {
    async fromAsync(items, f, self) {
      const out = [];
      const map = async (v) => out.push(f ? await f.call(self, await v, out.length) : await v);
      if (items[Symbol.asyncIterator]) {
        const it = items[Symbol.asyncIterator]();
        for (let r = await it.next(); !r.done; r = await it.next()) await map(r.value);
      } else if (items[Symbol.iterator]) {
        for (const v of items) await map(v);
      } else {
        for (let i = 0; i < items.length; i++) await map(items[i]);
      }
      return out;
    },
  });
  define(String.prototype, {
    isWellFormed() {
      return this.toWellFormed() === String(this);
    },
    toWellFormed() {
      return String(this).replace(/[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]/g, (m) =>
        m.length === 2 ? m : "\ufffd",
      );
    },
  });
  define(RegExp, {
    escape(text) {
      return text
        .replace(/[\\^$.*+?()[\]{}|\/]/g, "\\$&")
        .replace(/[-,=<>#&!%:;@~'`"]/g, (c) => "\\x" + c.charCodeAt(0).toString(16).padStart(2, "0"));
    },
  });
  // Iterator helpers.
  const iteratorPrototype = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()));
  const steps = (it) => ({
    __proto__: iteratorPrototype,
    next: () => it.next(),
    return: () => it.return?.() ?? { done: true },
  });
  define(iteratorPrototype, {
    *map(f) {
      let n = 0;
      for (const v of steps(this)) yield f(v, n++);
    },
    *filter(f) {
      let n = 0;
      for (const v of steps(this)) if (f(v, n++)) yield v;
    },
    *flatMap(f) {
      let n = 0;
      for (const v of steps(this)) yield* f(v, n++);
    },
    *take(count) {
      if (count > 0)
        for (const v of steps(this)) {
          yield v;
          if (--count <= 0) return;
        }
    },
    *drop(count) {
      for (const v of steps(this)) if (count-- <= 0) yield v;
    },
    toArray() {
      return [...steps(this)];
    },
    forEach(f) {
      let n = 0;
      for (const v of steps(this)) f(v, n++);
    },
    some(f) {
      let n = 0;
      for (const v of steps(this)) if (f(v, n++)) return true;
      return false;
    },
    every(f) {
      let n = 0;
      for (const v of steps(this)) if (!f(v, n++)) return false;
      return true;
    },
    find(f) {
      let n = 0;
      for (const v of steps(this)) if (f(v, n++)) return v;
    },
    reduce(f, ...first) {
      let n = 0,
        sum = first[0],
        have = first.length > 0;
      for (const v of steps(this)) {
        if (have) sum = f(sum, v, n);
        else {
          sum = v;
          have = true;
        }
        n++;
      }
      if (!have) throw new TypeError("Reduce of empty iterator with no initial value");
      return sum;
    },
  });

  // The engine hands a Proxy's apply and construct traps an array that it goes on to use itself, so that the
  // arguments change after an await. Traps get a copy.
  const EngineProxy = Proxy;
  const copying = (handler) => {
    if (typeof handler !== "object" || handler === null || !(handler.apply || handler.construct)) return handler;
    const copy = Object.create(handler);
    if (handler.apply) copy.apply = (target, self, args) => handler.apply(target, self, [...args]);
    if (handler.construct)
      copy.construct = (target, args, newTarget) => handler.construct(target, [...args], newTarget);
    return copy;
  };
  function SafeProxy(target, handler) {
    if (!new.target) throw new TypeError("Constructor Proxy requires 'new'");
    checkProxy(target);
    return new EngineProxy(target, copying(handler));
  }
  Object.defineProperty(SafeProxy, "name", { value: "Proxy" });
  SafeProxy.prototype = undefined;
  SafeProxy.revocable = (target, handler) => {
    checkProxy(target);
    return EngineProxy.revocable(target, copying(handler));
  };

  const replace = (name, value) => Object.defineProperty(global, name, { value, writable: true, configurable: true });
  replace("Proxy", SafeProxy);

  // Patterns with \p{…} that are made at run time; those of literals are rewritten when the script is compiled.
  const EngineRegExp = RegExp;
  function PatternRegExp(pattern, flags) {
    checkPattern(pattern);
    if (typeof pattern === "string" && typeof flags === "string") pattern = expandPattern(pattern, flags);
    if (new.target) return construct(EngineRegExp, [pattern, flags], new.target);
    if (flags === undefined && pattern instanceof EngineRegExp && pattern.constructor === PatternRegExp) return pattern;
    return new EngineRegExp(pattern, flags);
  }
  Object.defineProperties(PatternRegExp, Object.getOwnPropertyDescriptors(EngineRegExp));
  Object.defineProperty(RegExp.prototype, "constructor", { value: PatternRegExp });
  replace("RegExp", PatternRegExp);

  // Weak collections. The engine's keep what a value refers to, even the key; so here a key keeps its values, in a private
  // field that is put on it from without.
  const Returning = function (o) {
    return o;
  };
  class Held extends Returning {
    #values = new Map();
    static of(o) {
      return #values in o ? o.#values : undefined;
    }
  }
  const { of: heldBy } = Held;
  const { get: mapGet, set: mapSet, has: mapHas, delete: mapDelete } = Map.prototype;
  const canHold = (key) => (typeof key === "object" && key !== null) || typeof key === "function";
  const held = (key) => {
    let values = heldBy(key);
    if (values === undefined) {
      new Held(key);
      values = heldBy(key);
    }
    return values;
  };
  const fill = (collection, name, items, add) => {
    if (items === undefined || items === null) return;
    for (const item of items) add(collection[name], item);
  };
  class WeakMap {
    // Symbols cannot carry anything; they are kept as long as the collection is.
    #id = {};
    #symbols;
    constructor(items) {
      fill(this, "set", items, (set, item) => {
        if (Object(item) !== item) throw new TypeError(`Iterator value ${String(item)} is not an entry object`);
        apply(set, this, [item[0], item[1]]);
      });
    }
    #of(key) {
      if (canHold(key)) return heldBy(key);
      return typeof key === "symbol" ? this.#symbols : undefined;
    }
    #key(key) {
      return typeof key === "symbol" ? key : this.#id;
    }
    get(key) {
      const values = this.#of(key);
      return values === undefined ? undefined : apply(mapGet, values, [this.#key(key)]);
    }
    has(key) {
      const values = this.#of(key);
      return values !== undefined && apply(mapHas, values, [this.#key(key)]);
    }
    delete(key) {
      const values = this.#of(key);
      return values !== undefined && apply(mapDelete, values, [this.#key(key)]);
    }
    set(key, value) {
      if (canHold(key)) apply(mapSet, held(key), [this.#id, value]);
      else if (typeof key === "symbol" && Symbol.keyFor(key) === undefined)
        apply(mapSet, (this.#symbols ??= new Map()), [key, value]);
      else throw new TypeError(`Invalid value used as weak map key`);
      return this;
    }
  }
  class WeakSet {
    #map = new WeakMap();
    constructor(items) {
      fill(this, "add", items, (add, item) => apply(add, this, [item]));
    }
    has(key) {
      return this.#map.has(key);
    }
    delete(key) {
      return this.#map.delete(key);
    }
    add(key) {
      if (!canHold(key) && !(typeof key === "symbol" && Symbol.keyFor(key) === undefined)) {
        throw new TypeError("Invalid value used in weak set");
      }
      this.#map.set(key, true);
      return this;
    }
  }
  for (const C of [WeakMap, WeakSet]) {
    Object.defineProperty(C, "length", { value: 0, configurable: true });
    Object.defineProperty(C.prototype, Symbol.toStringTag, { value: C.name, configurable: true });
    replace(C.name, C);
  }

  if (!global.WeakRef && weakRefs) {
    // References are strong: the engine cannot tell what is garbage.
    replace(
      "WeakRef",
      class WeakRef {
        #target;
        constructor(target) {
          if (Object(target) !== target) throw new TypeError("WeakRef: target must be an object");
          this.#target = target;
        }
        deref() {
          return this.#target;
        }
        get [Symbol.toStringTag]() {
          return "WeakRef";
        }
      },
    );
    replace(
      "FinalizationRegistry",
      class FinalizationRegistry {
        constructor(cleanup) {
          if (typeof cleanup !== "function") throw new TypeError("FinalizationRegistry: cleanup must be callable");
        }
        register() {}
        unregister() {
          return false;
        }
        get [Symbol.toStringTag]() {
          return "FinalizationRegistry";
        }
      },
    );
  }

  // Buffers: the engine would take whatever size from the process, which ends where there is not so much.
  const replaceConstructor = (name, f) => {
    const Engine = global[name];
    Object.defineProperties(f, Object.getOwnPropertyDescriptors(Engine));
    Object.setPrototypeOf(f, getPrototypeOf(Engine));
    Object.defineProperty(Engine.prototype, "constructor", { value: f, writable: true, configurable: true });
    replace(name, f);
  };
  const boundBuffers = (name) => {
    const Engine = global[name];
    const most = maxBufferBytes / (Engine.BYTES_PER_ELEMENT ?? 1);
    const make = boundConstructor(Engine, most);
    replaceConstructor(name, function (a, b, c) {
      if (new.target === undefined) throw new TypeError(`Constructor ${name} requires 'new'`);
      return make(new.target, a, b, c);
    });
  };
  boundBuffers("ArrayBuffer");
  for (const element of ["Int8", "Uint8", "Uint8Clamped", "Int16", "Uint16", "Int32", "Uint32", "Float32", "Float64"])
    boundBuffers(element + "Array");
  boundBuffers("BigInt64Array");
  boundBuffers("BigUint64Array");

  const EngineBigInt = BigInt;
  replaceConstructor("BigInt", function (value) {
    if (new.target) throw new TypeError("BigInt is not a constructor");
    if (typeof value === "string") checkDigits(value);
    return EngineBigInt(value);
  });

  // Lists within lists: the engine's own goes round and round in one that has itself.
  const { isArray } = Array;
  const { flat: engineFlat, forEach } = Array.prototype;
  Object.defineProperty(Array.prototype, "flat", {
    value: {
      flat(depth = 1) {
        depth = Math.trunc(Number(depth)) || 0;
        if (this.length > maxList) throw new RangeError("Invalid array length");
        if (depth <= 1) return apply(engineFlat, this, [depth]);
        const out = [];
        const add = (list, depth) =>
          apply(forEach, list, [
            (item) => {
              if (depth > 0 && isArray(item)) add(item, depth - 1);
              else out.push(item);
            },
          ]);
        add(this, depth);
        return out;
      },
    }.flat,
    writable: true,
    configurable: true,
  });
  Object.defineProperty(Array.prototype.flat, "length", { value: 0, configurable: true });

  // Strings as the source of a typed array.
  const typedArray = getPrototypeOf(Uint8Array);
  const engineFrom = typedArray.from;
  Object.defineProperty(typedArray, "from", {
    value: {
      from(source, ...rest) {
        if (source?.length > maxBufferBytes) throw new RangeError(`Invalid typed array length: ${source.length}`);
        return apply(engineFrom, this, [typeof source === "string" ? [...source] : source, ...rest]);
      },
    }.from,
    writable: true,
    configurable: true,
  });

  // Explicit resource management.
  if (!global.SuppressedError) {
    class SuppressedError extends Error {
      constructor(error, suppressed, message) {
        super(message);
        Object.defineProperty(this, "error", { value: error, writable: true, configurable: true });
        Object.defineProperty(this, "suppressed", { value: suppressed, writable: true, configurable: true });
      }
    }
    Object.defineProperty(SuppressedError.prototype, "name", {
      value: "SuppressedError",
      writable: true,
      configurable: true,
    });
    replace("SuppressedError", SuppressedError);
    const method = (value, symbols) => {
      for (const symbol of symbols) {
        const f = value[symbol];
        if (f !== undefined && f !== null) return f;
      }
      throw new TypeError("the value is not disposable");
    };
    const join = (had, failed, error) => (failed ? new SuppressedError(error, had) : error);
    const disposed = () => {
      throw new ReferenceError("the stack is disposed already");
    };
    class DisposableStack {
      #stack = [];
      get disposed() {
        return this.#stack === null;
      }
      #push(f) {
        if (this.#stack === null) disposed();
        this.#stack.push(f);
      }
      use(value) {
        if (value === null || value === undefined) return value;
        const f = method(value, [Symbol.dispose]);
        this.#push(() => {
          apply(f, value, []);
        });
        return value;
      }
      adopt(value, f) {
        this.#push(() => {
          f(value);
        });
        return value;
      }
      defer(f) {
        this.#push(() => {
          f();
        });
      }
      move() {
        if (this.#stack === null) disposed();
        const next = new DisposableStack();
        next.#stack = this.#stack;
        this.#stack = null;
        return next;
      }
      dispose() {
        if (this.#stack === null) return;
        const all = this.#stack.reverse();
        this.#stack = null;
        let failed = false,
          error;
        for (const f of all) {
          try {
            f();
          } catch (e) {
            error = join(error, failed, e);
            failed = true;
          }
        }
        if (failed) throw error;
      }
      [Symbol.dispose]() {
        this.dispose();
      }
      get [Symbol.toStringTag]() {
        return "DisposableStack";
      }
    }
    class AsyncDisposableStack {
      #stack = [];
      get disposed() {
        return this.#stack === null;
      }
      #push(f) {
        if (this.#stack === null) disposed();
        this.#stack.push(f);
      }
      use(value) {
        if (value === null || value === undefined) return value;
        const f = method(value, [Symbol.asyncDispose, Symbol.dispose]);
        this.#push(() => apply(f, value, []));
        return value;
      }
      adopt(value, f) {
        this.#push(() => f(value));
        return value;
      }
      defer(f) {
        this.#push(() => f());
      }
      move() {
        if (this.#stack === null) disposed();
        const next = new AsyncDisposableStack();
        next.#stack = this.#stack;
        this.#stack = null;
        return next;
      }
      async disposeAsync() {
        if (this.#stack === null) return;
        const all = this.#stack.reverse();
        this.#stack = null;
        let failed = false,
          error;
        for (const f of all) {
          try {
            await f();
          } catch (e) {
            error = join(error, failed, e);
            failed = true;
          }
        }
        if (failed) throw error;
      }
      [Symbol.asyncDispose]() {
        return this.disposeAsync();
      }
      get [Symbol.toStringTag]() {
        return "AsyncDisposableStack";
      }
    }
    replace("DisposableStack", DisposableStack);
    replace("AsyncDisposableStack", AsyncDisposableStack);
  }

  define(iteratorPrototype, {
    [Symbol.dispose]() {
      this.return?.();
    },
  });
  if (!global.Iterator) {
    function Iterator() {
      if (!new.target || new.target === Iterator)
        throw new TypeError("Abstract class Iterator not directly constructable");
    }
    Object.defineProperty(Iterator, "prototype", { value: iteratorPrototype });
    define(Iterator, {
      from(value) {
        const it = value[Symbol.iterator]?.() ?? value;
        return it instanceof Iterator ? it : steps(it);
      },
    });
    // The language has these two as accessors, for the sake of old programs.
    const weird = (name, value) =>
      Object.defineProperty(iteratorPrototype, name, {
        get() {
          return value;
        },
        set(v) {
          Object.defineProperty(this, name, { value: v, writable: true, enumerable: true, configurable: true });
        },
        configurable: true,
      });
    weird("constructor", Iterator);
    weird(Symbol.toStringTag, "Iterator");
    replace("Iterator", Iterator);
  }

  define(Map.prototype, {
    getOrInsert(key, value) {
      if (!this.has(key)) this.set(key, value);
      return this.get(key);
    },
    getOrInsertComputed(key, f) {
      if (!this.has(key)) this.set(key, f(key));
      return this.get(key);
    },
  });
  const accessor = (start, name) => {
    for (let o = start; o !== null; o = getPrototypeOf(o)) {
      const d = Object.getOwnPropertyDescriptor(o, name);
      if (d) return d;
    }
  };
  define(Object.prototype, {
    __defineGetter__(name, get) {
      Object.defineProperty(this, name, { get, enumerable: true, configurable: true });
    },
    __defineSetter__(name, set) {
      Object.defineProperty(this, name, { set, enumerable: true, configurable: true });
    },
    __lookupGetter__(name) {
      return accessor(this, name)?.get;
    },
    __lookupSetter__(name) {
      return accessor(this, name)?.set;
    },
  });
  define(Math, {
    sumPrecise(items) {
      // Partial sums that add up to the sum without loss.
      const parts = [];
      let count = 0,
        special = 0;
      for (const item of items) {
        if (typeof item !== "number") throw new TypeError("Math.sumPrecise takes numbers");
        count++;
        if (!Number.isFinite(item)) {
          special += item;
          continue;
        }
        let x = item,
          n = 0;
        for (let y of parts) {
          if (Math.abs(x) < Math.abs(y)) [x, y] = [y, x];
          const high = x + y,
            low = y - (high - x);
          if (low !== 0) parts[n++] = low;
          x = high;
        }
        parts.length = n;
        parts.push(x);
      }
      if (special !== 0 || Number.isNaN(special)) return special;
      return count === 0 ? -0 : parts.reduceRight((sum, part) => sum + part, 0);
    },
  });
  define(ArrayBuffer.prototype, {
    transfer(length) {
      return transfer(this, length === undefined ? this.byteLength : Number(length));
    },
    transferToFixedLength(length) {
      return this.transfer(length);
    },
    get detached() {
      return detached(this);
    },
  });
  // Promise.any says what happened.
  const any = Promise.any;
  Object.defineProperty(Promise, "any", {
    value: {
      any(items) {
        return apply(then, apply(any, this, [items]), [
          undefined,
          (e) => {
            if (e instanceof AggregateError && e.message === "") {
              Object.defineProperty(e, "message", {
                value: "All promises were rejected",
                writable: true,
                configurable: true,
              });
            }
            throw e;
          },
        ]);
      },
    }.any,
    writable: true,
    configurable: true,
  });

  define(Error, {
    captureStackTrace(target) {
      if (Object(target) !== target) throw new TypeError("Invalid argument");
      const lines = layOut(new Error().stack).split("\n").slice(1);
      const head = target instanceof Error ? String(target) : "Error";
      Object.defineProperty(target, "stack", {
        value: [head, ...lines].join("\n"),
        writable: true,
        configurable: true,
      });
    },
    stackTraceLimit: 10,
  });

  // Code from strings: only where the host allows it.
  const refuse = () => {
    if (!evaluationAllowed()) throw new EvalError("Code generation from strings disallowed for this context");
  };
  const engineEval = global.eval;
  replace(
    "eval",
    {
      eval(code) {
        if (typeof code !== "string") return code;
        refuse();
        checkSource(code);
        return engineEval(code);
      },
    }.eval,
  );
  const guard = (Engine, name) => {
    const Guarded = {
      [name]: function (...args) {
        refuse();
        checkSource(...args);
        return construct(Engine, args, new.target ?? Engine);
      },
    }[name];
    Object.defineProperty(Guarded, "length", { value: 1, configurable: true });
    Object.defineProperty(Guarded, "prototype", { value: Engine.prototype, writable: false });
    Object.setPrototypeOf(Guarded, getPrototypeOf(Engine));
    Object.defineProperty(Engine.prototype, "constructor", {
      value: Guarded,
      writable: name === "Function",
      configurable: true,
    });
    return Guarded;
  };
  replace("Function", guard(global.Function, "Function"));
  guard(function* () {}.constructor, "GeneratorFunction");
  guard(async function () {}.constructor, "AsyncFunction");
});
