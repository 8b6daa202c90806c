// stream.
(function (host, use) {
  const { invalidArgType, check } = use("errors");
  const state = use("streamstate");
  const { Readable } = use("streamreadable");
  const { Writable } = use("streamwritable");
  const duplex = use("streamduplex");
  duplex.link();
  const { finished, pipeline, promises } = use("streamends");
  const { Buffer } = use("buffer");
  const { Stream } = state;
  const custom = Symbol.for("nodejs.util.promisify.custom");

  // Operators: each next takes what it needs of the stream before.
  const derive = (stream, next, options) => {
    const it = stream[Symbol.asyncIterator]();
    return Readable.from({
      [Symbol.asyncIterator]: () => ({
        next: () => next(it), return: async (v) => { await it.return(); return { value: v, done: true }; },
      }),
    }, { objectMode: true, highWaterMark: 1, ...(options?.signal ? { signal: options.signal } : {}) });
  };
  const over = { value: undefined, done: true };
  const each = async (stream, f, signal) => {
    const it = stream[Symbol.asyncIterator]();
    for (let r = await it.next(); !r.done; r = await it.next()) {
      if (signal?.aborted) { await it.return(); throw new (use("errors").AbortError)(undefined, { cause: signal.reason }); }
      if (await f(r.value) === false) { await it.return(); return; }
    }
  };
  const methods = {
    map(f, options) {
      check.function(f, "fn");
      return derive(this, async (it) => { const r = await it.next(); return r.done ? over : { value: await f(r.value, {}), done: false }; }, options);
    },
    filter(f, options) {
      check.function(f, "fn");
      return derive(this, async (it) => {
        for (;;) {
          const r = await it.next();
          if (r.done) return over;
          if (await f(r.value, {})) return { value: r.value, done: false };
        }
      }, options);
    },
    flatMap(f, options) {
      check.function(f, "fn");
      let inner = null;
      return derive(this, async (it) => {
        for (;;) {
          if (inner) {
            const r = await inner.next();
            if (!r.done) return { value: await r.value, done: false };
            inner = null;
          }
          const r = await it.next();
          if (r.done) return over;
          const v = await f(r.value, {});
          inner = v[Symbol.asyncIterator]?.() ?? v[Symbol.iterator]();
        }
      }, options);
    },
    take(count, options) {
      let left = Number(count);
      if (!(left >= 0)) throw use("errors").outOfRange("number", ">= 0", count);
      return derive(this, async (it) => {
        if (left-- > 0) return it.next();
        await it.return();
        return over;
      }, options);
    },
    drop(count, options) {
      let left = Number(count);
      if (!(left >= 0)) throw use("errors").outOfRange("number", ">= 0", count);
      return derive(this, async (it) => {
        for (;;) {
          const r = await it.next();
          if (r.done || left-- <= 0) return r;
        }
      }, options);
    },
    async toArray(options) {
      const out = [];
      await each(this, (v) => { out.push(v); }, options?.signal);
      return out;
    },
    async forEach(f, options) { check.function(f, "fn"); await each(this, async (v) => { await f(v, {}); }, options?.signal); },
    async some(f, options) {
      check.function(f, "fn");
      let found = false;
      await each(this, async (v) => !(found = !!await f(v, {})), options?.signal);
      return found;
    },
    async every(f, options) {
      check.function(f, "fn");
      let all = true;
      await each(this, async (v) => (all = !!await f(v, {})), options?.signal);
      return all;
    },
    async find(f, options) {
      check.function(f, "fn");
      let found;
      await each(this, async (v) => { if (await f(v, {})) { found = v; return false; } return true; }, options?.signal);
      return found;
    },
    async reduce(f, ...rest) {
      check.function(f, "reducer");
      let [sum] = rest, have = rest.length > 0;
      await each(this, async (v) => { sum = have ? await f(sum, v, {}) : v; have = true; }, rest[1]?.signal);
      if (!have) throw use("errors").coded(TypeError, "ERR_MISSING_ARGS", "Reduce of an empty stream requires an initial value");
      return sum;
    },
    compose(target, options) { return compose([this, target], options); },
  };
  for (const name of Object.keys(methods)) {
    Object.defineProperty(Readable.prototype, name, { value: methods[name], writable: true, configurable: true });
  }
  // compose makes one duplex of several streams in a row.
  const compose = (streams) => {
    streams = streams.map((s) => (state.isStream(s) ? s : duplex.Duplex.from(s)));
    if (streams.length === 1) return streams[0];
    const first = streams[0], last = streams.at(-1);
    const d = use("streamadapters").duplexFrom({
      readable: last._readableState ? last : undefined, writable: first._writableState ? first : undefined,
    });
    pipeline(...streams, (e) => { if (e) d.destroy(e); });
    return d;
  };
  // duplexPair makes two duplexes: what is written to one is read from the other.
  const duplexPair = (options) => {
    const half = (other) => {
      let resume = null;
      const d = new duplex.Duplex({
        ...options,
        read() {
          const f = resume;
          resume = null;
          f?.();
        },
        write(chunk, encoding, done) {
          if (chunk.length === 0) process.nextTick(done);
          else {
            other().push(chunk);
            waiting.set(other(), done);
            if (other().readableFlowing || other().readableLength < other().readableHighWaterMark) wake(other());
          }
        },
        final(done) {
          other().on("end", done);
          other().push(null);
        },
      });
      wakers.set(d, () => { const f = waiting.get(d); waiting.delete(d); f?.(); });
      return d;
    };
    const waiting = new Map(), wakers = new Map();
    const wake = (d) => wakers.get(d)();
    const a = half(() => b), b = half(() => a);
    return [a, b];
  };
  Object.assign(Stream, {
    Stream, Readable, Writable, Duplex: duplex.Duplex, Transform: duplex.Transform, PassThrough: duplex.PassThrough, pipeline,
    finished, promises, duplexPair, compose: (...streams) => compose(streams),
    addAbortSignal(signal, stream) {
      if (!("aborted" in Object(signal))) invalidArgType("signal", "AbortSignal", signal);
      if (!state.isStream(stream)) invalidArgType("stream", ["ReadableStream", "WritableStream", "Stream"], stream);
      return state.aborter(signal, stream);
    },
    getDefaultHighWaterMark: state.getDefaultHighWaterMark, setDefaultHighWaterMark: state.setDefaultHighWaterMark,
    destroy(stream, error) { stream.destroy(error); return stream; },
    isReadable: (s) => (state.isStream(s) ? s.readable : null), isWritable: (s) => (state.isStream(s) ? s.writable : null),
    isErrored: (s) => !!(s?._readableState?.errored || s?._writableState?.errored),
    isDisturbed: (s) => !!(s?._readableState?.dataEmitted || s?._readableState?.destroyed || s?._readableState?.endEmitted),
    isDestroyed: (s) => !!s?.destroyed,
    _isUint8Array: (v) => v instanceof Uint8Array, _uint8ArrayToBuffer: (v) => Buffer.from(v.buffer, v.byteOffset, v.byteLength),
    _isArrayBufferView: (v) => ArrayBuffer.isView(v),
  });
  Object.defineProperty(pipeline, custom, { enumerable: true, value: promises.pipeline });
  Object.defineProperty(finished, custom, { enumerable: true, value: promises.finished });
  // pipe of the class that old programs extend.
  Stream.prototype.pipe = function (target, options) {
    this.on("data", (chunk) => { if (target.writable && target.write(chunk) === false && this.pause) this.pause(); });
    target.on("drain", () => { if (this.readable && this.resume) this.resume(); });
    if (options?.end !== false) this.on("end", () => target.end());
    target.emit("pipe", this);
    return target;
  };
  return Stream;
})
