// Streams. The state of a stream, a reader, a writer and a controller is an object of its own, which only this file can
// reach; the classes are views of these.
(function (host, use) {
  const {
    readSource,
    cancelSource,
    newDecoder,
    newDigest,
    updateDigest,
    finishDigest,
    newCompression,
    runCompression,
    transferBuffer,
    dated,
    illegalInvocation,
  } = host;
  const then = Promise.prototype.then;
  const { apply } = Reflect;
  const react = (p, f, g) => apply(then, p, [f, g]);
  const ignore = () => {};
  const handled = (p) => {
    react(p, undefined, ignore);
    return p;
  };
  const deferred = () => {
    const d = {};
    d.promise = new Promise((resolve, reject) => {
      d.resolve = resolve;
      d.reject = reject;
    });
    return d;
  };
  // ended is the result of a read at the end: at old dates it has no value, rather than one that is undefined.
  const ended = dated.structs ? () => ({ value: undefined, done: true }) : () => ({ done: true });
  // attempt calls f and gives a promise of what it returns or throws.
  const attempt = (f) => {
    try {
      return Promise.resolve(f());
    } catch (e) {
      return Promise.reject(e);
    }
  };
  const key = {};
  const illegal = () => {
    throw new TypeError("Illegal constructor");
  };
  // states makes a class's way to its state.
  const states = () => {
    const map = new WeakMap();
    const of = (o) => {
      const s = map.get(o);
      if (s === undefined) throw new TypeError(illegalInvocation);
      return s;
    };
    of.set = (o, s) => {
      map.set(o, s);
      return s;
    };
    of.has = (o) => map.has(o);
    return of;
  };
  const finish = (C, names) => {
    for (const name of names) Object.defineProperty(C.prototype, name, { enumerable: true });
    if (dated.tags) Object.defineProperty(C.prototype, Symbol.toStringTag, { value: C.name, configurable: true });
    delete C.prototype.constructor;
    Object.defineProperty(C.prototype, "constructor", { value: C, writable: true, configurable: true });
  };
  const needs = (args, method, owner) => {
    if (args.length > 0) return;
    throw new TypeError(`Failed to execute '${method}' on '${owner}': parameter 1 is not of type 'Value'.`);
  };
  const bytes = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const lockedText = "This ReadableStream is currently locked to a reader.";
  const writerLockedText = "This WritableStream is currently locked to a writer.";
  const releasedText = "This ReadableStream reader has been released.";
  const writerReleasedText = "This WritableStream writer has been released.";
  const closedWriterText = "This WritableStream has been closed.";

  // Readable side.
  const R = states(); // ReadableStream
  const RC = states(); // its controllers
  const RR = states(); // its readers

  const newReadable = (kind, algorithms, highWaterMark, size, stream) => {
    const s = { stream: null, state: "readable", error: undefined, reader: null, disturbed: false, controller: null };
    const c = {
      s,
      kind,
      queue: [],
      size: 0,
      highWaterMark,
      measure: size,
      started: false,
      pulling: false,
      again: false,
      closing: false,
      pull: algorithms.pull,
      cancel: algorithms.cancel,
      chunkSize: algorithms.chunkSize,
      request: null,
      source: algorithms.source,
      internal: algorithms.internal,
      length: algorithms.length,
      view: null,
    };
    s.controller = c;
    s.stream = stream ?? Object.create(ReadableStream.prototype);
    R.set(s.stream, s);
    c.view = Object.create(
      (kind === "bytes" ? ReadableByteStreamController : ReadableStreamDefaultController).prototype,
    );
    RC.set(c.view, c);
    return s;
  };
  const begin = (c, start) => {
    react(
      attempt(() => start?.()),
      () => {
        c.started = true;
        pullIfNeeded(c);
      },
      (e) => {
        errorReadable(c, e);
      },
    );
  };
  const waiting = (s) => s.reader !== null && s.reader.requests.length > 0;
  const desired = (c) => {
    if (c.s.state === "errored") return null;
    if (c.s.state === "closed") return 0;
    return c.highWaterMark - c.size;
  };
  const pullIfNeeded = (c) => {
    if (c.s.state !== "readable" || c.closing || !c.started) return;
    if (!waiting(c.s) && !(desired(c) > 0)) return;
    if (c.pulling) {
      c.again = true;
      return;
    }
    c.pulling = true;
    react(
      attempt(() => c.pull?.(c.view)),
      () => {
        c.pulling = false;
        if (c.again) {
          c.again = false;
          pullIfNeeded(c);
        }
      },
      (e) => {
        errorReadable(c, e);
      },
    );
  };
  const forget = (c) => {
    c.pull = c.cancel = c.measure = undefined;
  };
  const closeReadable = (s) => {
    s.state = "closed";
    forget(s.controller);
    const r = s.reader;
    if (!r) return;
    r.closed.resolve();
    for (const q of r.requests.splice(0)) q.close();
  };
  const errorReadable = (c, e) => {
    const { s } = c;
    if (s.state !== "readable") return;
    c.queue = [];
    c.size = 0;
    c.request = null;
    s.state = "errored";
    s.error = e;
    forget(c);
    const r = s.reader;
    if (!r) return;
    r.closed.reject(e);
    handled(r.closed.promise);
    for (const q of r.requests.splice(0)) q.error(e);
  };
  const requestClose = (c) => {
    if (c.closing || c.s.state !== "readable") throw new TypeError("This ReadableStream is closed.");
    c.closing = true;
    if (c.queue.length > 0) return;
    const first = c.s.reader?.requests[0];
    if (first?.filled > 0 && first.filled % first.unit !== 0) {
      const e = new TypeError("The stream was closed within an element of a view.");
      errorReadable(c, e);
      throw e;
    }
    closeReadable(c.s);
  };
  const push = (c, chunk) => {
    const { s } = c;
    if (c.closing || s.state !== "readable") throw new TypeError("Unable to enqueue");
    if (c.kind === "bytes") return pushBytes(c, chunk);
    if (waiting(s)) {
      s.reader.requests.shift().chunk(chunk);
    } else {
      let size = 1;
      try {
        if (c.measure) size = Number(c.measure(chunk));
        if (!(size >= 0) || size === Infinity)
          throw new RangeError(
            "The return value of a queuing strategy's size function must be a finite, non-NaN, non-negative number",
          );
      } catch (e) {
        errorReadable(c, e);
        return;
      }
      c.queue.push({ chunk, size });
      c.size += size;
    }
    pullIfNeeded(c);
  };
  const pushBytes = (c, chunk) => {
    const { s } = c;
    c.request = null;
    if (s.reader && s.reader.kind === "default" && waiting(s)) {
      s.reader.requests.shift().chunk(chunk);
    } else {
      c.queue.push({ chunk, size: chunk.byteLength });
      c.size += chunk.byteLength;
      fillViews(c);
    }
    pullIfNeeded(c);
  };
  // shift takes the next chunk off the queue.
  const shift = (c) => {
    const { chunk, size } = c.queue.shift();
    c.size -= size;
    if (c.closing && c.queue.length === 0) closeReadable(c.s);
    else pullIfNeeded(c);
    return chunk;
  };
  // join makes one chunk of the queue of a stream of bytes. Like workerd: a read takes all that is there.
  const join = (c) => {
    const chunk = new Uint8Array(c.size);
    let at = 0;
    for (const head of c.queue) {
      chunk.set(head.chunk, at);
      at += head.size;
    }
    c.queue = [{ chunk, size: c.size }];
  };
  // fillViews gives queued bytes to readers that wait with views.
  const fillViews = (c) => {
    const r = c.s.reader;
    while (r && r.kind === "byob" && r.requests.length > 0 && c.size > 0) {
      const q = r.requests[0];
      take(c, q);
      if (q.filled < q.least) break;
      r.requests.shift();
      q.chunk(q.value());
    }
  };
  const take = (c, q) => {
    while (c.size > 0 && q.filled < q.view.byteLength) {
      const head = c.queue[0];
      const n = Math.min(head.size, q.view.byteLength - q.filled);
      new Uint8Array(q.view.buffer, q.view.byteOffset + q.filled, n).set(head.chunk.subarray(0, n));
      q.filled += n;
      c.size -= n;
      if (n === head.size) c.queue.shift();
      else {
        head.chunk = head.chunk.subarray(n);
        head.size -= n;
      }
    }
  };
  const readStep = (r, q) => {
    const { s } = r;
    s.disturbed = true;
    const c = s.controller;
    if (s.state === "closed") {
      q.internal = c.internal;
      return q.close();
    }
    if (s.state === "errored") return q.error(s.error);
    if (r.kind === "byob") {
      q.internal = c.internal;
      r.requests.push(q);
      fillViews(c);
      if (c.closing && c.queue.length === 0 && s.state === "readable") closeReadable(s);
      else pullIfNeeded(c);
    } else if (c.queue.length > 0) {
      if (c.kind === "bytes" && c.queue.length > 1) join(c);
      q.chunk(shift(c));
    } else {
      r.requests.push(q);
      pullIfNeeded(c);
    }
  };
  const promiseRequest = () => {
    const d = deferred();
    return {
      promise: d.promise,
      chunk(value) {
        d.resolve({ value, done: false });
      },
      close() {
        d.resolve(ended());
      },
      error: d.reject,
    };
  };
  const viewRequest = (view, least) => {
    const unit = view.BYTES_PER_ELEMENT ?? 1;
    const d = deferred();
    const q = {
      promise: d.promise,
      view,
      unit,
      least: least * unit,
      filled: 0,
      value() {
        const n = q.filled - (q.filled % unit);
        return view instanceof DataView
          ? new DataView(view.buffer, view.byteOffset, n)
          : new view.constructor(view.buffer, view.byteOffset, n / unit);
      },
      chunk(value) {
        d.resolve({ value, done: false });
      },
      close() {
        if (q.internal && q.filled === 0 && !dated.byobView) d.resolve(ended());
        else d.resolve({ value: q.value(), done: q.filled < unit });
      },
      error: d.reject,
    };
    return q;
  };
  const cancelReadable = (s, reason) => {
    s.disturbed = true;
    if (s.state === "closed") return Promise.resolve();
    if (s.state === "errored") return Promise.reject(s.error);
    const c = s.controller;
    const { cancel } = c;
    c.queue = [];
    c.size = 0;
    closeReadable(s);
    return react(
      attempt(() => cancel?.(reason)),
      ignore,
    );
  };
  const acquire = (s, kind, view) => {
    if (s.reader) throw new TypeError(lockedText);
    const r = { s, kind, requests: [], closed: deferred() };
    if (s.state === "closed") r.closed.resolve();
    else if (s.state === "errored") {
      r.closed.reject(s.error);
      handled(r.closed.promise);
    }
    s.reader = r;
    if (view) RR.set(view, r);
    return r;
  };
  const release = (r) => {
    const { s } = r;
    if (!s) return;
    const e = new TypeError(releasedText);
    if (s.state === "readable") r.closed.reject(e);
    else {
      r.closed = deferred();
      r.closed.reject(e);
    }
    handled(r.closed.promise);
    r.s = null;
    s.reader = null;
    for (const q of r.requests.splice(0)) q.error(e);
  };

  const notNatural = "The value cannot be converted because it is negative and this API expects a positive bigint.";
  const natural = (v) => {
    const n = Number(v);
    if (n < 0) throw new TypeError(notNatural);
    if (!Number.isFinite(n)) throw new TypeError("The value cannot be converted because it is not an integer.");
    return Math.floor(n);
  };
  const strategyOf = (strategy, missing) => {
    let highWaterMark = strategy?.highWaterMark;
    if (highWaterMark === undefined) highWaterMark = missing;
    else {
      highWaterMark = natural(highWaterMark);
    }
    const size = strategy?.size;
    return { highWaterMark, size: size === undefined ? undefined : (chunk) => size(chunk) };
  };
  const method = (kind, o, name) => {
    const f = o?.[name];
    if (f === undefined) return undefined;
    if (typeof f !== "function") {
      throw new TypeError(
        `Incorrect type for the '${name}' field on '${kind}': the provided value is not of type 'function'.`,
      );
    }
    return (...args) => apply(f, o, args);
  };

  // transferView takes a view's buffer from the script and gives a view of what was in it.
  const transferView = (view) => {
    const { constructor: C, byteOffset, byteLength } = view;
    const size = view.length ?? byteLength;
    return new C(transferBuffer(view.buffer), byteOffset, size);
  };

  class ReadableStream {
    constructor(source = {}, strategy = {}) {
      if (source === null || typeof source !== "object") {
        throw new TypeError(
          "Failed to construct 'ReadableStream': constructor parameter 1 is not of type 'UnderlyingSource'.",
        );
      }
      const kind = source.type === undefined ? "default" : String(source.type);
      if (kind !== "default" && kind !== "bytes")
        throw new TypeError(`"${kind}" is not a valid type of ReadableStream.`);
      const { highWaterMark, size } = strategyOf(strategy, kind === "bytes" ? 0 : 1);
      const chunkSize = source.autoAllocateChunkSize ?? 4096; // like workerd
      if (!(chunkSize > 0)) throw new TypeError("The autoAllocateChunkSize option cannot be zero.");
      const start = method("UnderlyingSource", source, "start");
      const s = newReadable(
        kind,
        { pull: method("UnderlyingSource", source, "pull"), cancel: method("UnderlyingSource", source, "cancel"), chunkSize },
        highWaterMark,
        size,
        this,
      );
      begin(s.controller, start && (() => start(s.controller.view)));
    }
    static from(iterable) {
      const f = iterable?.[Symbol.asyncIterator] ?? iterable?.[Symbol.iterator];
      if (typeof f !== "function") {
        throw new TypeError(
          "Failed to execute 'from' on 'ReadableStream': parameter 1 is not of type 'AsyncGenerator'.",
        );
      }
      return fromIterable(iterable);
    }
    get locked() {
      return R(this).reader !== null;
    }
    cancel(reason) {
      const s = R(this);
      return attempt(() => {
        if (s.reader) throw new TypeError(lockedText);
        return cancelReadable(s, reason);
      });
    }
    getReader(options) {
      const mode = options?.mode;
      if (mode === undefined) return new ReadableStreamDefaultReader(this);
      if (String(mode) !== "byob") throw new TypeError("mode must be undefined or 'byob' in call to getReader().");
      return new ReadableStreamBYOBReader(this);
    }
    pipeThrough(transform, options) {
      if (transform === null || typeof transform !== "object") {
        throw new TypeError(
          "Failed to execute 'pipeThrough' on 'ReadableStream': parameter 1 is not of type 'Transform'.",
        );
      }
      const { readable, writable } = transform;
      const wrong = !R.has(readable) ? "readable" : !W.has(writable) ? "writable" : undefined;
      if (wrong) {
        const kind = wrong === "readable" ? "ReadableStream" : "WritableStream";
        throw new TypeError(
          `Incorrect type for the '${wrong}' field on 'Transform': the provided value is not of type '${kind}'.`,
        );
      }
      if (R(this).reader) throw new TypeError(lockedText);
      if (W(writable).writer) throw new TypeError(writerLockedText);
      handled(pipe(R(this), W(writable), options));
      return readable;
    }
    pipeTo(destination, options) {
      const s = R(this);
      return attempt(() => {
        if (!W.has(destination)) {
          throw new TypeError(
            "Failed to execute 'pipeTo' on 'ReadableStream': parameter 1 is not of type 'WritableStream'.",
          );
        }
        if (s.reader) throw new TypeError(lockedText);
        if (W(destination).writer) throw new TypeError("This WritableStream is currently locked to a writer");
        return pipe(s, W(destination), options);
      });
    }
    tee() {
      return tee(R(this));
    }
    values(options) {
      const r = acquire(R(this), "default");
      const keep = !!options?.preventCancel;
      let last = Promise.resolve(),
        done = false;
      const next = () => {
        if (done) return Promise.resolve(dated.structs ? { done: true, value: undefined } : { done: true });
        const q = promiseRequest();
        readStep(r, q);
        return react(
          q.promise,
          (result) => {
            if (result.done) {
              done = true;
              release(r);
            }
            return result.done && !dated.structs ? result : { done: result.done, value: result.value };
          },
          (e) => {
            done = true;
            release(r);
            throw e;
          },
        );
      };
      const stop = (value) => {
        if (done) return Promise.resolve({ value, done: true });
        done = true;
        if (keep) {
          release(r);
          return Promise.resolve({ value, done: true });
        }
        const p = cancelReadable(r.s, value);
        release(r);
        return react(p, () => ({ value, done: true }));
      };
      return Object.setPrototypeOf(
        {
          next() {
            return (last = react(last, next, next));
          },
          return(value) {
            return (last = react(
              last,
              () => stop(value),
              () => stop(value),
            ));
          },
        },
        iteratorPrototype,
      );
    }
  }
  const iteratorPrototype = {
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  if (dated.tags) {
    Object.defineProperty(iteratorPrototype, Symbol.toStringTag, {
      value: "ReadableStreamAsyncIterator",
      configurable: true,
    });
  }
  Object.defineProperty(ReadableStream.prototype, Symbol.asyncIterator, {
    value: ReadableStream.prototype.values,
    writable: true,
    configurable: true,
  });
  Object.defineProperty(ReadableStream, "from", { enumerable: true });
  finish(ReadableStream, ["locked", "cancel", "getReader", "pipeThrough", "pipeTo", "tee", "values"]);

  class ReadableStreamDefaultReader {
    constructor(stream) {
      if (!R.has(stream)) {
        throw new TypeError(
          "Failed to construct 'ReadableStreamDefaultReader': constructor parameter 1 is not of type 'ReadableStream'.",
        );
      }
      acquire(R(stream), "default", this);
    }
    get closed() {
      return RR(this).closed.promise;
    }
    cancel(reason) {
      const r = RR(this);
      return attempt(() => {
        if (!r.s) throw new TypeError(releasedText);
        return cancelReadable(r.s, reason);
      });
    }
    read() {
      const r = RR(this);
      return attempt(() => {
        if (!r.s) throw new TypeError(releasedText);
        const q = promiseRequest();
        readStep(r, q);
        return q.promise;
      });
    }
    releaseLock() {
      release(RR(this));
    }
  }
  finish(ReadableStreamDefaultReader, ["closed", "cancel", "read", "releaseLock"]);

  class ReadableStreamBYOBReader {
    constructor(stream) {
      if (!R.has(stream)) {
        throw new TypeError(
          "Failed to construct 'ReadableStreamBYOBReader': constructor parameter 1 is not of type 'ReadableStream'.",
        );
      }
      if (R(stream).controller.kind !== "bytes")
        throw new TypeError("This ReadableStream does not support BYOB reads.");
      acquire(R(stream), "byob", this);
    }
    get closed() {
      return RR(this).closed.promise;
    }
    cancel(reason) {
      return apply(ReadableStreamDefaultReader.prototype.cancel, this, [reason]);
    }
    read(view, options) {
      const r = RR(this);
      return attempt(() => {
        if (!ArrayBuffer.isView(view)) {
          throw new TypeError(
            "Failed to execute 'read' on 'ReadableStreamBYOBReader': parameter 1 is not of type 'ArrayBufferView'.",
          );
        }
        if (!r.s) throw new TypeError(releasedText);
        if (view.byteLength === 0)
          throw new TypeError('You must call read() on a "byob" reader with a positive-sized TypedArray object.');
        const least = options?.min ?? 1;
        if (!(least > 0) || least > (view.length ?? view.byteLength)) {
          throw new TypeError("The minimum number of elements must be greater than zero and at most that of the view.");
        }
        const q = viewRequest(transferView(view), least);
        readStep(r, q);
        return q.promise;
      });
    }
    releaseLock() {
      release(RR(this));
    }
    readAtLeast(least, view) {
      return this.read(view, { min: least });
    }
  }
  finish(ReadableStreamBYOBReader, ["closed", "cancel", "read", "readAtLeast", "releaseLock"]);

  class ReadableStreamDefaultController {
    constructor() {
      illegal();
    }
    get desiredSize() {
      return desired(RC(this));
    }
    close() {
      requestClose(RC(this));
    }
    enqueue(chunk) {
      push(RC(this), chunk);
    }
    error(e) {
      const c = RC(this);
      needs(arguments, "error", "ReadableStreamDefaultController");
      errorReadable(c, e);
    }
  }
  finish(ReadableStreamDefaultController, ["desiredSize", "close", "enqueue", "error"]);

  class ReadableByteStreamController {
    constructor() {
      illegal();
    }
    get byobRequest() {
      const c = RC(this);
      if (c.request) return c.request.view;
      const r = c.s.reader;
      const q = r?.requests[0];
      if (!q) return null;
      let target;
      if (r.kind === "byob")
        target = new Uint8Array(q.view.buffer, q.view.byteOffset + q.filled, q.view.byteLength - q.filled);
      else if (c.chunkSize) target = new Uint8Array(c.chunkSize);
      else return null;
      const view = Object.create(ReadableStreamBYOBRequest.prototype);
      c.request = { view, c, target };
      BR.set(view, c.request);
      return view;
    }
    get desiredSize() {
      return desired(RC(this));
    }
    close() {
      requestClose(RC(this));
    }
    enqueue(chunk) {
      const c = RC(this);
      if (chunk instanceof ArrayBuffer) chunk = new Uint8Array(chunk);
      if (!ArrayBuffer.isView(chunk)) {
        throw new TypeError(
          "Failed to execute 'enqueue' on 'ReadableByteStreamController': parameter 1 is not of type " +
            "'BufferSource'.",
        );
      }
      if (chunk.byteLength === 0) throw new TypeError("Cannot enqueue a zero-length ArrayBuffer.");
      push(c, bytes(transferView(chunk)));
    }
    error(e) {
      errorReadable(RC(this), e);
    }
  }
  finish(ReadableByteStreamController, ["byobRequest", "desiredSize", "close", "enqueue", "error"]);

  const BR = states();
  // respond takes n bytes that the source wrote where it was asked to.
  const respond = (b, n) => {
    const { c, target } = b;
    if (c.request !== b) throw new TypeError("This ReadableStreamBYOBRequest has been invalidated.");
    const r = c.s.reader;
    if (n === 0) {
      if (c.s.state === "readable" && !c.closing)
        throw new TypeError("The bytesWritten must be more than zero while the stream is open.");
      c.request = null;
      return;
    }
    if (n > target.byteLength) throw new RangeError("Too many bytes [" + n + "] in response to a BYOB read request.");
    c.request = null;
    if (r?.kind === "byob" && r.requests.length > 0) {
      const q = r.requests[0];
      q.filled += n;
      if (q.filled >= q.least) {
        r.requests.shift();
        q.chunk(q.value());
      }
    } else {
      pushBytes(c, target.subarray(0, n));
    }
    pullIfNeeded(c);
  };
  class ReadableStreamBYOBRequest {
    constructor() {
      illegal();
    }
    get view() {
      const b = BR(this);
      return b.c.request === b ? b.target : null;
    }
    get atLeast() {
      return 1;
    }
    respond(n) {
      respond(BR(this), Number(n));
    }
    respondWithNewView(view) {
      const b = BR(this);
      if (view.byteLength > b.target.byteLength) throw new RangeError("The view does not fit the request.");
      if (view.buffer !== b.target.buffer) b.target.set(bytes(view));
      respond(b, view.byteLength);
    }
  }
  finish(ReadableStreamBYOBRequest, ["view", "atLeast", "respond", "respondWithNewView"]);

  const fromIterable = (iterable) => {
    const it = apply(iterable[Symbol.asyncIterator] ?? iterable[Symbol.iterator], iterable, []);
    const s = newReadable(
      "default",
      {
        async pull(c) {
          const { value, done } = await it.next();
          if (done) c.close();
          else c.enqueue(await value);
        },
        async cancel(reason) {
          await it.return?.(reason);
        },
      },
      0,
    );
    begin(s.controller);
    return s.stream;
  };

  const tee = (s) => {
    if (s.reader) throw new TypeError("This ReadableStream is currently locked to a reader,");
    const r = acquire(s, "default");
    const { kind } = s.controller;
    const branches = [],
      canceled = [false, false];
    const over = deferred();
    let reading = false,
      again = false;
    const pull = () => {
      if (reading) {
        again = true;
        return;
      }
      reading = true;
      readStep(r, {
        chunk(value) {
          reading = false;
          if (!canceled[0]) push(branches[0], value);
          if (!canceled[1]) push(branches[1], kind === "bytes" ? value.slice() : value);
          if (again) {
            again = false;
            pull();
          }
        },
        close() {
          reading = false;
          branches.forEach((c, n) => {
            if (!canceled[n] && !c.closing) requestClose(c);
          });
          over.resolve();
        },
        error(e) {
          reading = false;
          branches.forEach((c) => errorReadable(c, e));
          over.resolve();
        },
      });
    };
    const cancel = (n) => (reason) => {
      canceled[n] = true;
      if (canceled[1 - n]) over.resolve(cancelReadable(s, reason)); // like workerd: the last reason
      return over.promise;
    };
    for (const n of [0, 1]) {
      const b = newReadable(kind, { pull, cancel: cancel(n) }, kind === "bytes" ? 0 : 1);
      branches.push(b.controller);
    }
    react(r.closed.promise, undefined, (e) => {
      branches.forEach((c) => errorReadable(c, e));
      over.resolve();
    });
    branches.forEach((c) => begin(c));
    return branches.map((c) => c.s.stream);
  };

  // Writable side.
  const W = states(); // WritableStream
  const WC = states(); // its controller
  const WW = states(); // its writer

  const newWritable = (algorithms, highWaterMark, size, stream) => {
    const s = {
      stream: null,
      state: "writable",
      error: undefined,
      writer: null,
      controller: null,
      requests: [],
      closeRequest: null,
      writing: null,
      closing: null,
      pendingAbort: null,
      backpressure: false,
    };
    const c = {
      s,
      queue: [],
      size: 0,
      highWaterMark,
      measure: size,
      started: false,
      ...algorithms,
      view: null,
      abortSource: null,
    };
    s.controller = c;
    s.stream = stream ?? Object.create(WritableStream.prototype);
    W.set(s.stream, s);
    c.view = Object.create(WritableStreamDefaultController.prototype);
    WC.set(c.view, c);
    setBackpressure(s, c.highWaterMark <= 0);
    return s;
  };
  const beginWritable = (c, start) => {
    if (!start) {
      c.started = true; // like workerd: at once
      return;
    }
    react(
      attempt(start),
      () => {
        c.started = true;
        advance(c);
      },
      (e) => {
        c.started = true;
        deal(c.s, e);
      },
    );
  };
  const queued = (s) => s.closeRequest !== null || s.closing !== null;
  const setBackpressure = (s, on) => {
    if (s.writer && on !== s.backpressure) {
      if (on) s.writer.ready = deferred();
      else s.writer.ready.resolve();
    }
    s.backpressure = on;
  };
  const deal = (s, e) => {
    if (s.state === "writable") startErroring(s, e);
    else if (s.state === "erroring") finishErroring(s);
  };
  const rejectReady = (w, e) => {
    if (w.ready.settled) w.ready = deferred();
    w.ready.reject(e);
    w.ready.settled = true;
    handled(w.ready.promise);
  };
  const startErroring = (s, e) => {
    s.state = "erroring";
    s.error = e;
    if (s.writer) {
      s.writer.ready = deferred();
      rejectReady(s.writer, e);
    }
    if (!s.writing && !s.closing && s.controller.started) finishErroring(s);
  };
  const rejectClosed = (s) => {
    if (s.closeRequest) {
      s.closeRequest.reject(s.error);
      s.closeRequest = null;
    }
    if (s.writer) {
      s.writer.closed.reject(s.error);
      handled(s.writer.closed.promise);
    }
  };
  const finishErroring = (s) => {
    s.state = "errored";
    const c = s.controller;
    c.queue = [];
    c.size = 0;
    for (const q of s.requests.splice(0)) q.reject(s.error);
    const p = s.pendingAbort;
    s.pendingAbort = null;
    if (!p) return rejectClosed(s);
    if (p.was) {
      p.d.reject(s.error);
      return rejectClosed(s);
    }
    react(
      attempt(() => c.abort?.(p.reason)),
      () => {
        p.d.resolve();
        rejectClosed(s);
      },
      (e) => {
        p.d.reject(e);
        rejectClosed(s);
      },
    );
  };
  const advance = (c) => {
    const { s } = c;
    if (!c.started || s.writing) return;
    if (s.state === "erroring") return finishErroring(s);
    if (s.state !== "writable" || c.queue.length === 0) return;
    const head = c.queue[0];
    if (head.close) {
      c.queue.shift();
      s.closing = s.closeRequest;
      s.closeRequest = null;
      react(
        attempt(() => c.close?.()),
        () => {
          s.closing.resolve();
          s.closing = null;
          if (s.state === "erroring") {
            s.error = undefined;
            if (s.pendingAbort) {
              s.pendingAbort.d.resolve();
              s.pendingAbort = null;
            }
          }
          s.state = "closed";
          s.writer?.closed.resolve();
        },
        (e) => {
          s.closing.reject(e);
          s.closing = null;
          if (s.pendingAbort) {
            s.pendingAbort.d.reject(e);
            s.pendingAbort = null;
          }
          deal(s, e);
        },
      );
      return;
    }
    s.writing = s.requests.shift();
    react(
      attempt(() => c.write?.(head.chunk, c.view)),
      () => {
        s.writing.resolve();
        s.writing = null;
        c.queue.shift();
        c.size -= head.size;
        if (!queued(s) && s.state === "writable") setBackpressure(s, c.highWaterMark - c.size <= 0);
        advance(c);
      },
      (e) => {
        s.writing.reject(e);
        s.writing = null;
        deal(s, e);
      },
    );
  };
  const write = (w, chunk) => {
    const { s } = w;
    const c = s.controller;
    let size = 1;
    if (c.measure && s.state === "writable") {
      try {
        size = Number(c.measure(chunk));
      } catch (e) {
        deal(s, e);
      }
      if (!(size >= 0) || size === Infinity) {
        deal(
          s,
          new RangeError(
            "The return value of a queuing strategy's size function must be a finite, non-NaN, non-negative number",
          ),
        );
        size = 1;
      }
    }
    if (w.s !== s) return Promise.reject(new TypeError(writerReleasedText));
    if (s.state === "errored") return Promise.reject(s.error);
    if (queued(s) || s.state === "closed") return Promise.reject(new TypeError(closedWriterText));
    if (s.state === "erroring") return Promise.reject(s.error);
    const d = deferred();
    s.requests.push(d);
    c.queue.push({ chunk, size });
    c.size += size;
    setBackpressure(s, c.highWaterMark - c.size <= 0);
    advance(c);
    return d.promise;
  };
  const closeWritable = (s) => {
    if (s.state === "closed" || s.state === "errored" || queued(s)) {
      return Promise.reject(s.state === "errored" ? s.error : new TypeError(closedWriterText));
    }
    const d = (s.closeRequest = deferred());
    if (s.writer && s.backpressure && s.state === "writable") s.writer.ready.resolve();
    s.controller.queue.push({ close: true, size: 0 });
    advance(s.controller);
    return d.promise;
  };
  const abortWritable = (s, reason) => {
    if (s.state === "closed" || s.state === "errored") return Promise.resolve();
    s.controller.abortSource?.(reason);
    if (s.pendingAbort) return s.pendingAbort.d.promise;
    const was = s.state === "erroring";
    const d = deferred();
    s.pendingAbort = { d, reason, was };
    if (!was) startErroring(s, reason);
    return d.promise;
  };
  const acquireWriter = (s, view) => {
    if (s.writer) throw new TypeError(writerLockedText);
    const w = { s, ready: deferred(), closed: deferred() };
    s.writer = w;
    if (s.state === "erroring") {
      rejectReady(w, s.error);
    } else if (s.state === "errored") {
      rejectReady(w, s.error);
      w.closed.reject(s.error);
      handled(w.closed.promise);
    } else if (s.state === "closed") {
      w.ready.resolve();
      w.closed.resolve();
    } else if (queued(s) || !s.backpressure) w.ready.resolve();
    if (view) WW.set(view, w);
    return w;
  };
  const releaseWriter = (w) => {
    const { s } = w;
    if (!s) return;
    const e = new TypeError(writerReleasedText);
    if (dated.writer || s.backpressure) {
      w.ready = deferred();
      rejectReady(w, e);
    }
    if (s.state === "writable" || s.state === "erroring") w.closed.reject(e);
    else {
      w.closed = deferred();
      w.closed.reject(e);
    }
    handled(w.closed.promise);
    s.writer = null;
    w.s = null;
  };

  class WritableStream {
    constructor(sink = {}, strategy = {}) {
      const { highWaterMark, size } = strategyOf(strategy, 1);
      const start = method("UnderlyingSink", sink, "start");
      const s = newWritable(
        { write: method("UnderlyingSink", sink, "write"), close: method("UnderlyingSink", sink, "close"), abort: method("UnderlyingSink", sink, "abort") },
        highWaterMark,
        size,
        this,
      );
      beginWritable(s.controller, start && (() => start(s.controller.view)));
    }
    get locked() {
      return W(this).writer !== null;
    }
    abort(reason) {
      const s = W(this);
      return attempt(() => {
        if (s.writer) throw new TypeError(writerLockedText);
        return abortWritable(s, reason);
      });
    }
    close() {
      const s = W(this);
      return attempt(() => {
        if (s.writer) throw new TypeError(writerLockedText);
        return closeWritable(s);
      });
    }
    getWriter() {
      return new WritableStreamDefaultWriter(this);
    }
  }
  finish(WritableStream, ["locked", "abort", "close", "getWriter"]);

  class WritableStreamDefaultWriter {
    constructor(stream) {
      if (!W.has(stream)) {
        throw new TypeError(
          "Failed to construct 'WritableStreamDefaultWriter': constructor parameter 1 is not of type 'WritableStream'.",
        );
      }
      acquireWriter(W(stream), this);
    }
    get closed() {
      return WW(this).closed.promise;
    }
    get ready() {
      return WW(this).ready.promise;
    }
    get desiredSize() {
      const { s } = WW(this);
      if (!s) throw new TypeError(writerReleasedText);
      if (s.state === "errored" || s.state === "erroring") return null;
      return s.state === "closed" ? 0 : s.controller.highWaterMark - s.controller.size;
    }
    abort(reason) {
      const w = WW(this);
      return attempt(() => {
        if (!w.s) throw new TypeError(writerReleasedText);
        return abortWritable(w.s, reason);
      });
    }
    close() {
      const w = WW(this);
      return attempt(() => {
        if (!w.s) throw new TypeError(writerReleasedText);
        return closeWritable(w.s);
      });
    }
    releaseLock() {
      releaseWriter(WW(this));
    }
    write(chunk) {
      const w = WW(this);
      return attempt(() => {
        if (!w.s) throw new TypeError(writerReleasedText);
        return write(w, chunk);
      });
    }
  }
  finish(WritableStreamDefaultWriter, ["closed", "ready", "desiredSize", "abort", "close", "releaseLock", "write"]);

  class WritableStreamDefaultController {
    constructor() {
      illegal();
    }
    get signal() {
      const c = WC(this);
      if (!c.signal) {
        const events = use("events");
        c.signal = events.newSignal();
        c.abortSource = (reason) => events.abort(c.signal, reason);
      }
      return c.signal;
    }
    error(e) {
      const c = WC(this);
      if (c.s.state === "writable") startErroring(c.s, e);
    }
  }
  finish(WritableStreamDefaultController, ["signal", "error"]);

  const pipe = (source, destination, options) => {
    const { preventClose, preventAbort, preventCancel, signal } = options ?? {};
    if (signal !== undefined && !use("events").isSignal(signal)) {
      throw new TypeError(
        "Incorrect type for the 'signal' field on 'PipeToOptions': the provided value is not of type 'AbortSignal'.",
      );
    }
    const r = acquire(source, "default");
    const w = acquireWriter(destination);
    source.disturbed = true;
    const result = deferred();
    let over = false,
      last = Promise.resolve(),
      stop;
    const finalize = (failed, e) => {
      releaseWriter(w);
      release(r);
      if (signal) signal.removeEventListener("abort", stop);
      if (failed) result.reject(e);
      else result.resolve();
    };
    const shut = (action, failed, e) => {
      if (over) return;
      over = true;
      const go = () =>
        react(
          attempt(() => action?.()),
          () => finalize(failed, e),
          (e2) => finalize(true, e2),
        );
      if (destination.state === "writable" && !queued(destination)) react(last, go, go);
      else go();
    };
    const sourceClosed = () =>
      shut(
        preventClose
          ? undefined
          : () => {
              if (queued(destination) || destination.state === "closed") return undefined;
              return closeWritable(destination);
            },
        false,
      );
    const sourceFailed = (e) => shut(preventAbort ? undefined : () => abortWritable(destination, e), true, e);
    const destinationFailed = (e) => shut(preventCancel ? undefined : () => cancelReadable(source, e), true, e);
    if (signal) {
      stop = () =>
        shut(
          () =>
            Promise.all([
              preventAbort
                ? undefined
                : destination.state === "writable"
                  ? abortWritable(destination, signal.reason)
                  : undefined,
              preventCancel
                ? undefined
                : source.state === "readable"
                  ? cancelReadable(source, signal.reason)
                  : undefined,
            ]),
          true,
          signal.reason,
        );
      if (signal.aborted) {
        stop();
        return result.promise;
      }
      signal.addEventListener("abort", stop);
    }
    if (source.state === "errored") sourceFailed(source.error);
    else if (destination.state === "errored" || destination.state === "erroring") destinationFailed(destination.error);
    else if (source.state === "closed") sourceClosed();
    else if (queued(destination) || destination.state === "closed") destinationFailed(new TypeError("This destination writable stream is closed."));
    if (over) return result.promise;
    react(w.closed.promise, ignore, (e) => {
      if (w.s) destinationFailed(e);
    });
    const step = () => {
      if (over) return;
      react(
        w.ready.promise,
        () => {
          if (over) return;
          readStep(r, {
            chunk(value) {
              last = handled(write(w, value));
              step();
            },
            close: sourceClosed,
            error: sourceFailed,
          });
        },
        ignore,
      );
    };
    step();
    return result.promise;
  };

  // Transforms.
  const T = states(); // TransformStream
  const TC = states(); // its controller
  const newTransform = (algorithms, writeStrategy, readStrategy, stream) => {
    const t = { readable: null, writable: null, view: null, change: null, finished: null, backpressure: true };
    const c = () => t.readable.controller;
    t.change = deferred();
    const setPressure = (on) => {
      if (t.backpressure === on) return;
      t.change.resolve();
      t.change = deferred();
      t.backpressure = on;
    };
    t.setPressure = setPressure;
    t.fail = (e) => {
      errorReadable(c(), e);
      t.unblock(e);
    };
    t.unblock = (e) => {
      t.algorithms = {};
      if (t.writable.state === "writable") startErroring(t.writable, e);
      setPressure(false);
    };
    t.algorithms = algorithms;
    t.view = Object.create(TransformStreamDefaultController.prototype);
    TC.set(t.view, t);
    const run = (chunk) =>
      react(
        attempt(() => t.algorithms.transform?.(chunk, t.view)),
        ignore,
        (e) => {
          t.fail(e);
          throw e;
        },
      );
    const settleOnce = (f) => {
      t.finished ??= f();
      return t.finished;
    };
    t.writable = newWritable(
      {
        write(chunk) {
          if (
            t.algorithms.bytes &&
            !ArrayBuffer.isView(chunk) &&
            !(chunk instanceof ArrayBuffer) &&
            typeof chunk !== "string"
          ) {
            const e = new TypeError(notBytes);
            t.fail(e);
            throw e;
          }
          if (!t.backpressure || (t.algorithms.bytes && chunk.byteLength === 0)) return run(chunk);
          return react(t.change.promise, () => {
            if (t.writable.state === "erroring") throw t.writable.error;
            return run(chunk);
          });
        },
        close() {
          return settleOnce(() =>
            react(
              attempt(() => t.algorithms.flush?.(t.view)),
              () => {
                const { quiet } = t.algorithms;
                t.algorithms = {};
                if (t.readable.state === "errored" && !quiet) throw t.readable.error;
                if (!c().closing && t.readable.state === "readable") requestClose(c());
              },
              (e) => {
                t.fail(e);
                throw e;
              },
            ),
          );
        },
        abort(reason) {
          return settleOnce(() =>
            react(
              attempt(() => t.algorithms.cancel?.(reason)),
              () => {
                t.algorithms = {};
                if (t.readable.state === "errored") throw t.readable.error;
                errorReadable(c(), reason);
              },
              (e) => {
                errorReadable(c(), e);
                throw e;
              },
            ),
          );
        },
      },
      writeStrategy.highWaterMark,
      writeStrategy.size,
    );
    t.readable = newReadable(
      algorithms.bytes ? "bytes" : "default",
      {
        internal: algorithms.bytes,
        pull() {
          setPressure(false);
          return t.change.promise;
        },
        cancel(reason) {
          return settleOnce(() =>
            react(
              attempt(() => t.algorithms.cancel?.(reason)),
              () => {
                if (t.algorithms.bytes) reason ??= new Error("Stream was cancelled.");
                t.algorithms = {};
                if (t.writable.state === "errored") throw t.writable.error;
                if (t.writable.state === "writable") startErroring(t.writable, reason);
                setPressure(false);
              },
              (e) => {
                if (t.writable.state === "writable") startErroring(t.writable, e);
                setPressure(false);
                throw e;
              },
            ),
          );
        },
      },
      readStrategy.highWaterMark,
      readStrategy.size,
    );
    T.set(stream, t);
    const started = deferred();
    begin(c(), () => started.promise);
    beginWritable(t.writable.controller, () => started.promise);
    started.resolve(algorithms.start?.(t.view));
    return t;
  };
  const emit = (t, chunk) => {
    const c = t.readable.controller;
    if (c.closing || t.readable.state !== "readable") {
      throw t.readable.state === "errored"
        ? t.readable.error
        : new TypeError("The readable side of this TransformStream is no longer readable.");
    }
    try {
      push(c, chunk);
    } catch (e) {
      t.unblock(e);
      throw t.readable.state === "errored" ? t.readable.error : e;
    }
    const on = !waiting(t.readable) && !(desired(c) > 0);
    if (on !== t.backpressure) t.setPressure(true);
  };

  class TransformStream {
    constructor(transformer = {}, writable = {}, readable = {}) {
      for (const field of ["readableType", "writableType"]) {
        if (transformer?.[field] !== undefined) throw new TypeError(`transformer.${field} must be undefined.`);
      }
      newTransform(
        {
          start: method("Transformer", transformer, "start"),
          transform: method("Transformer", transformer, "transform") ?? ((chunk, c) => c.enqueue(chunk)),
          flush: method("Transformer", transformer, "flush"),
          cancel: method("Transformer", transformer, "cancel"),
        },
        strategyOf(writable, 1),
        strategyOf(readable, 0),
        this,
      );
    }
    get readable() {
      return T(this).readable.stream;
    }
    get writable() {
      return T(this).writable.stream;
    }
  }
  finish(TransformStream, ["readable", "writable"]);
  class TransformStreamDefaultController {
    constructor() {
      illegal();
    }
    get desiredSize() {
      return desired(TC(this).readable.controller);
    }
    enqueue(chunk) {
      emit(TC(this), chunk);
    }
    error(e) {
      TC(this).fail(e);
    }
    terminate() {
      const t = TC(this);
      const c = t.readable.controller;
      if (!c.closing && t.readable.state === "readable") requestClose(c);
      t.unblock(new TypeError("The transform stream has been terminated"));
    }
  }
  finish(TransformStreamDefaultController, ["desiredSize", "enqueue", "error", "terminate"]);

  const toBytes = (chunk, text) => {
    if (ArrayBuffer.isView(chunk)) return bytes(chunk).slice();
    if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk).slice();
    if (typeof chunk === "string") return new TextEncoder().encode(chunk);
    throw new TypeError(text);
  };
  const notBytes =
    "This TransformStream is being used as a byte stream, but received an object of non-ArrayBuffer/ArrayBufferView " +
    "type on its writable side.";
  class IdentityTransformStream extends TransformStream {
    constructor(strategy = {}) {
      super();
      newTransform(
        {
          bytes: true,
          transform(chunk, c) {
            const b = toBytes(chunk, notBytes);
            if (b.byteLength > 0) emit(TC(c), b);
          },
        },
        strategyOf(strategy, 1),
        { highWaterMark: 0 },
        this,
      );
    }
  }
  Object.defineProperty(IdentityTransformStream.prototype, Symbol.toStringTag, {
    value: "IdentityTransformStream",
    configurable: true,
  });
  class FixedLengthStream extends IdentityTransformStream {
    constructor(length, strategy = {}) {
      super(strategy);
      if (arguments.length === 0) {
        throw new TypeError("Failed to construct 'FixedLengthStream': constructor parameter 1 is not of type 'bigint'.");
      }
      let left = natural(length);
      if (!Number.isSafeInteger(left)) {
        throw new TypeError("FixedLengthStream requires an integer expected length less than 2^53.");
      }
      const t = newTransform(
        {
          bytes: true,
          transform(chunk, c) {
            const b = toBytes(chunk, notBytes);
            left -= b.byteLength;
            // Like workerd: it is the reader who learns of it.
            if (left < 0) TC(c).fail(new TypeError("Attempt to write too many bytes through a FixedLengthStream."));
            else if (b.byteLength > 0) emit(TC(c), b);
          },
          flush(c) {
            if (left === 0) return;
            errorReadable(
              TC(c).readable.controller,
              new TypeError("FixedLengthStream did not see all expected bytes before close()."),
            );
          },
          quiet: true,
        },
        strategyOf(strategy, 1),
        { highWaterMark: 0 },
        this,
      );
      t.readable.controller.length = left;
    }
  }
  Object.defineProperty(FixedLengthStream.prototype, Symbol.toStringTag, {
    value: "FixedLengthStream",
    configurable: true,
  });

  class TextEncoderStream extends TransformStream {
    constructor() {
      let high = "";
      super({
        transform(chunk, c) {
          let text = high + String(chunk);
          high = "";
          const last = text.charCodeAt(text.length - 1);
          if (last >= 0xd800 && last <= 0xdbff) {
            high = text.slice(-1);
            text = text.slice(0, -1);
          }
          if (text) c.enqueue(new TextEncoder().encode(text));
        },
        flush(c) {
          if (high) c.enqueue(new TextEncoder().encode(high));
        },
      });
    }
    get encoding() {
      return "utf-8";
    }
  }
  finish(TextEncoderStream, ["encoding"]);
  class TextDecoderStream extends TransformStream {
    #decoder;
    constructor(label = "utf-8", options = {}) {
      const decoder = newDecoder(label, options);
      super({
        transform(chunk, c) {
          if (!ArrayBuffer.isView(chunk) && !(chunk instanceof ArrayBuffer)) {
            throw new TypeError(
              "This TransformStream is being used as a byte stream, but received a value that is not a BufferSource.",
            );
          }
          const text = decoder.decode(chunk, { stream: true });
          if (text) c.enqueue(text);
        },
        flush(c) {
          const text = decoder.decode();
          if (text) c.enqueue(text);
        },
      });
      this.#decoder = decoder;
    }
    get encoding() {
      return this.#decoder.encoding;
    }
    get fatal() {
      return this.#decoder.fatal;
    }
    get ignoreBOM() {
      return this.#decoder.ignoreBOM;
    }
  }
  finish(TextDecoderStream, ["encoding", "fatal", "ignoreBOM"]);

  class DigestStream extends WritableStream {
    #digest;
    #count;
    constructor(algorithm) {
      if (arguments.length === 0) {
        throw new TypeError(
          "Failed to construct 'DigestStream': constructor parameter 1 is not of type 'string or HashAlgorithm'.",
        );
      }
      const digest = newDigest(algorithm);
      const result = deferred();
      const count = { bytes: 0 };
      handled(result.promise);
      super({
        write(chunk) {
          const b = toBytes(
            chunk,
            "DigestStream is a byte stream but received an object of non-ArrayBuffer/ArrayBufferView/string type on its " +
              "writable side.",
          );
          count.bytes += b.byteLength;
          updateDigest(digest, b);
        },
        close() {
          result.resolve(finishDigest(digest));
        },
        abort(e) {
          result.reject(e);
        },
      });
      this.#digest = result.promise;
      this.#count = count;
    }
    get digest() {
      return this.#digest;
    }
    get bytesWritten() {
      return BigInt(this.#count.bytes);
    }
  }
  finish(DigestStream, ["digest", "bytesWritten"]);

  const compression = (name, decompress) => {
    const C = {
      [name]: class extends TransformStream {
        constructor(format) {
          if (arguments.length === 0)
            throw new TypeError(`Failed to construct '${name}': constructor parameter 1 is not of type 'string'.`);
          super();
          const handle = newCompression(String(format), decompress);
          if (!handle) throw new TypeError("The compression format must be either 'deflate', 'deflate-raw' or 'gzip'.");
          newTransform(
            {
              bytes: true,
              transform(chunk, c) {
                const out = runCompression(handle, toBytes(chunk, notBytes), false);
                if (out) emit(TC(c), out);
              },
              flush(c) {
                const out = runCompression(handle, undefined, true);
                if (out) emit(TC(c), out);
              },
            },
            { highWaterMark: 1 },
            { highWaterMark: 0 },
            this,
          );
        }
      },
    }[name];
    Object.defineProperty(C.prototype, Symbol.toStringTag, { value: name, configurable: true });
    return C;
  };
  const CompressionStream = compression("CompressionStream", false);
  const DecompressionStream = compression("DecompressionStream", true);

  const strategy = (name, size) => {
    const C = {
      [name]: class {
        #highWaterMark;
        constructor(init) {
          if (init === null || typeof init !== "object") {
            throw new TypeError(
              `Failed to construct '${name}': constructor parameter 1 is not of type 'QueuingStrategyInit'.`,
            );
          }
          this.#highWaterMark = Number(init.highWaterMark);
        }
        get highWaterMark() {
          return this.#highWaterMark;
        }
        get size() {
          return size;
        }
      },
    }[name];
    finish(C, ["highWaterMark", "size"]);
    return C;
  };
  const ByteLengthQueuingStrategy = strategy("ByteLengthQueuingStrategy", function size(chunk) {
    return chunk?.byteLength;
  });
  const CountQueuingStrategy = strategy("CountQueuingStrategy", function size() {
    return 1;
  });

  // What Go calls.
  const fromSource = (source, length) => {
    const s = newReadable(
      "bytes",
      {
        source,
        length,
        internal: true,
        pull: (c) =>
          react(readSource(source), (chunk) => {
            if (chunk === undefined) c.close();
            else push(RC(c), chunk);
          }),
        cancel: () => cancelSource(source),
      },
      0,
    );
    s.controller.started = true;
    return s.stream;
  };
  const readAll = (stream, f, limit) =>
    new Promise((resolve, reject) => {
      const r = acquire(R(stream), "default");
      const chunks = [];
      let size = 0;
      const fail = (e) => {
        release(r);
        reject(e);
      };
      const next = () =>
        readStep(r, {
          chunk(value) {
            let b;
            try {
              b = ArrayBuffer.isView(value)
                ? bytes(value)
                : value instanceof ArrayBuffer
                  ? new Uint8Array(value)
                  : null;
            } catch (e) {
              b = null;
            }
            if (!b) {
              const e = new TypeError("This ReadableStream did not return bytes.");
              handled(cancelReadable(r.s, e));
              return fail(e);
            }
            chunks.push(b);
            size += b.byteLength;
            if (size > limit) {
              const e = new TypeError("Memory limit would be exceeded before EOF.");
              handled(cancelReadable(r.s, e));
              return fail(e);
            }
            queueMicrotask(next);
          },
          close() {
            release(r);
            const all = chunks.length === 1 ? chunks[0] : new Uint8Array(size);
            if (chunks.length !== 1) {
              let at = 0;
              for (const b of chunks) {
                all.set(b, at);
                at += b.byteLength;
              }
            }
            try {
              resolve(f(all));
            } catch (e) {
              reject(e);
            }
          },
          error: fail,
        });
      next();
    });

  return {
    ReadableStream,
    ReadableStreamDefaultReader,
    ReadableStreamBYOBReader,
    ReadableStreamBYOBRequest,
    ReadableStreamDefaultController,
    ReadableByteStreamController,
    WritableStream,
    WritableStreamDefaultWriter,
    WritableStreamDefaultController,
    TransformStream,
    TransformStreamDefaultController,
    ByteLengthQueuingStrategy,
    CountQueuingStrategy,
    IdentityTransformStream,
    FixedLengthStream,
    TextEncoderStream,
    TextDecoderStream,
    DigestStream,
    CompressionStream,
    DecompressionStream,
    describe: (v) => {
      if (R.has(v)) {
        const { state, controller: c } = R(v);
        return { state, supportsBYOB: c.kind === "bytes", length: c.length >= 0 ? BigInt(c.length) : undefined };
      }
      return W.has(v) ? { state: W(v).state, expectsBytes: false } : undefined;
    },
    isReadable: (v) => R.has(v),
    isWritable: (v) => W.has(v),
    disturbed: (v) => R(v).disturbed,
    locked: (v) => R(v).reader !== null,
    length: (v) => R(v).controller.length,
    fromIterable,
    fromSource,
    readAll,
    tee: (v) => tee(R(v)),
    getReader: (v) => acquire(R(v), "default"),
    read: (r) => {
      const q = promiseRequest();
      readStep(r, q);
      return q.promise;
    },
    cancel: (r, reason) => {
      if (r.s) handled(cancelReadable(r.s, reason));
    },
    // consume leaves a stream as if it had been read to its end.
    consume: (v) => {
      const s = R(v);
      s.disturbed = true;
      acquire(s, "default");
      closeReadable(s);
    },
    takeSource: (v) => {
      const s = R(v);
      if (!s.controller.source || s.disturbed || s.reader) return undefined;
      s.disturbed = true;
      const { source } = s.controller;
      acquire(s, "default");
      closeReadable(s);
      return source;
    },
    // proxy gives what is left of a stream as another one.
    proxy: (v) => {
      const s = R(v);
      const r = acquire(s, "default");
      s.disturbed = true;
      const { kind } = s.controller;
      const p = newReadable(
        kind,
        {
          pull: () =>
            new Promise((resolve) =>
              readStep(r, {
                chunk(value) {
                  push(p.controller, value);
                  resolve();
                },
                close() {
                  requestClose(p.controller);
                  resolve();
                },
                error(e) {
                  errorReadable(p.controller, e);
                  resolve();
                },
              }),
            ),
          cancel: (reason) => cancelReadable(s, reason),
        },
        0,
      );
      begin(p.controller);
      return p.stream;
    },
  };
});
