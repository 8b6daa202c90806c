// Readable streams.
(function (host, use) {
  const { coded, invalidArgType } = use("errors");
  const { Buffer } = use("buffer");
  const { Stream, tick, common, highWaterMark, construct, errorOrDestroy, shared, aborter, isIterable } = use("streamstate");
  const { StringDecoder } = use("string_decoder");

  const newState = (options, duplex) => {
    const objectMode = !!(options?.objectMode || (duplex && options?.readableObjectMode));
    return {
      ...common(options), objectMode, highWaterMark: highWaterMark(options, duplex ? "readable" : "", objectMode), buffer: [],
      length: 0, pipes: [], flowing: null, ended: false, endEmitted: false, reading: false, needReadable: false,
      emittedReadable: false, readableListening: false, resumeScheduled: false, paused: false, readingMore: false,
      dataEmitted: false, readable: true, awaitDrain: new Set(), decoder: null, encoding: null,
      defaultEncoding: options?.defaultEncoding ?? "utf8",
    };
  };
  function Readable(options) {
    if (!(this instanceof Readable)) return new Readable(options);
    const duplex = this instanceof use("streamduplex").Duplex;
    this._readableState ??= newState(options, duplex);
    if (options?.encoding) this.setEncoding(options.encoding);
    if (!duplex) {
      if (typeof options?.read === "function") this._read = options.read;
      if (typeof options?.destroy === "function") this._destroy = options.destroy;
      if (typeof options?.construct === "function") this._construct = options.construct;
      Stream.call(this, options);
      if (options?.signal) aborter(options.signal, this);
      construct(this, () => { if (this._readableState.needReadable) readMore(this, this._readableState); });
      return;
    }
    Stream.call(this, options);
  }
  Object.setPrototypeOf(Readable.prototype, Stream.prototype);
  Object.setPrototypeOf(Readable, Stream);
  const proto = Readable.prototype;
  Object.assign(proto, shared);
  const sizeOf = (s, chunk) => (s.objectMode ? 1 : chunk.length);

  const add = (stream, chunk, encoding, front) => {
    const s = stream._readableState;
    if (!s.objectMode) {
      if (typeof chunk === "string") {
        encoding ||= s.defaultEncoding;
        if (s.encoding !== encoding) {
          chunk = Buffer.from(chunk, encoding);
          if (front && s.encoding) chunk = chunk.toString(s.encoding);
        }
      } else if (chunk instanceof Uint8Array) {
        if (!Buffer.isBuffer(chunk)) chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      } else if (ArrayBuffer.isView(chunk)) chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      else if (chunk !== null && chunk !== undefined) {
        let error;
        try { invalidArgType("chunk", ["string", "Buffer", "TypedArray", "DataView"], chunk); } catch (e) { error = e; }
        errorOrDestroy(stream, error);
        return false;
      }
    }
    if (chunk === null || (chunk === undefined && !s.objectMode)) {
      s.reading = false;
      if (chunk === null) end(stream, s);
      return false;
    }
    if (!s.objectMode && chunk.length === 0) {
      if (!front) { s.reading = false; readMore(stream, s); }
      return wants(s);
    }
    if (front) {
      if (s.endEmitted) errorOrDestroy(stream, coded(Error, "ERR_STREAM_UNSHIFT_AFTER_END_EVENT", "stream.unshift() after end event"));
      else if (s.destroyed || s.errored) return false;
      else put(stream, s, chunk, true);
      return wants(s);
    }
    if (s.ended) {
      errorOrDestroy(stream, coded(Error, "ERR_STREAM_PUSH_AFTER_EOF", "stream.push() after EOF"));
      return false;
    }
    if (s.destroyed || s.errored) return false;
    s.reading = false;
    if (s.decoder && !encoding) {
      chunk = s.decoder.write(chunk);
      if (!s.objectMode && chunk.length === 0) { readMore(stream, s); return wants(s); }
    }
    put(stream, s, chunk, false);
    return wants(s);
  };
  const wants = (s) => !s.ended && (s.length < s.highWaterMark || s.length === 0);
  const put = (stream, s, chunk, front) => {
    if (s.flowing && s.length === 0 && !s.sync && stream.listenerCount("data") > 0) {
      s.awaitDrain.clear();
      s.dataEmitted = true;
      stream.emit("data", chunk);
    } else {
      s.length += sizeOf(s, chunk);
      if (front) s.buffer.unshift(chunk);
      else s.buffer.push(chunk);
      if (s.needReadable) emitReadable(stream);
    }
    readMore(stream, s);
  };
  const end = (stream, s) => {
    if (s.ended) return;
    if (s.decoder) {
      const rest = s.decoder.end();
      if (rest && rest.length) { s.buffer.push(rest); s.length += sizeOf(s, rest); }
    }
    s.ended = true;
    if (s.sync) emitReadable(stream);
    else {
      s.needReadable = false;
      s.emittedReadable = true;
      emitReadableNow(stream);
    }
  };
  const emitReadable = (stream) => {
    const s = stream._readableState;
    s.needReadable = false;
    if (!s.emittedReadable) { s.emittedReadable = true; tick(emitReadableNow, stream); }
  };
  const emitReadableNow = (stream) => {
    const s = stream._readableState;
    if (!s.destroyed && !s.errored && (s.length || s.ended)) { stream.emit("readable"); s.emittedReadable = false; }
    s.needReadable = !s.flowing && !s.ended && s.length <= s.highWaterMark;
    flow(stream);
  };
  // readMore fills the buffer, so that reading seldom waits.
  const readMore = (stream, s) => {
    if (s.readingMore || !s.constructed) return;
    s.readingMore = true;
    tick(() => {
      while (!s.reading && !s.ended && (s.length < s.highWaterMark || (s.flowing && s.length === 0))) {
        const before = s.length;
        stream.read(0);
        if (before === s.length) break;
      }
      s.readingMore = false;
    });
  };
  const flow = (stream) => {
    const s = stream._readableState;
    while (s.flowing && stream.read() !== null);
  };
  const howMuch = (s, n) => {
    if (n <= 0 || (s.length === 0 && s.ended)) return 0;
    if (s.objectMode) return 1;
    if (Number.isNaN(n)) return s.flowing && s.length ? s.buffer[0].length : s.length;
    if (n <= s.length) return n;
    return s.ended ? s.length : 0;
  };
  const take = (s, n) => {
    if (s.objectMode) return s.buffer.shift();
    if (n === undefined || n >= s.length) {
      const all = s.buffer.length === 1 ? s.buffer[0] : s.decoder ? s.buffer.join("") : Buffer.concat(s.buffer, s.length);
      s.buffer = [];
      return all;
    }
    const out = [];
    while (n > 0) {
      const first = s.buffer[0];
      if (first.length <= n) { out.push(first); s.buffer.shift(); n -= first.length; } else {
        out.push(first.slice(0, n));
        s.buffer[0] = first.slice(n);
        n = 0;
      }
    }
    return out.length === 1 ? out[0] : s.decoder ? out.join("") : Buffer.concat(out);
  };
  const finish = (stream) => {
    const s = stream._readableState;
    if (s.endEmitted) return;
    s.ended = true;
    tick(() => {
      if (s.errored || s.closeEmitted || s.endEmitted || s.length > 0) return;
      s.endEmitted = true;
      stream.emit("end");
      const w = stream._writableState;
      if (stream.writable && stream.allowHalfOpen === false) tick(() => {
        if (stream.writable && !stream.writableEnded && !stream.destroyed) stream.end();
      });
      else if (s.autoDestroy && (!w || (w.autoDestroy && (w.finished || w.writable === false)))) stream.destroy();
    });
  };

  Object.assign(proto, {
    push(chunk, encoding) { return add(this, chunk, encoding, false); },
    unshift(chunk, encoding) { return add(this, chunk, encoding, true); },
    _read() { throw coded(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _read() method is not implemented"); },
    read(n) {
      const s = this._readableState, asked = n === undefined ? NaN : parseInt(n, 10);
      n = asked;
      if (n > s.highWaterMark) s.highWaterMark = 2 ** Math.ceil(Math.log2(Math.min(n, 0x40000000)));
      if (n !== 0) s.emittedReadable = false;
      if (n === 0 && s.needReadable && ((s.highWaterMark !== 0 ? s.length >= s.highWaterMark : s.length > 0) || s.ended)) {
        if (s.length === 0 && s.ended) finish(this);
        else emitReadable(this);
        return null;
      }
      n = howMuch(s, n);
      if (n === 0 && s.ended) {
        if (s.length === 0) finish(this);
        return null;
      }
      let fetch = s.needReadable || s.length === 0 || s.length - n < s.highWaterMark;
      if (s.ended || s.reading || s.destroyed || s.errored || !s.constructed) fetch = false;
      if (fetch) {
        s.reading = s.sync = true;
        if (s.length === 0) s.needReadable = true;
        try { this._read(s.highWaterMark); } catch (e) { errorOrDestroy(this, e); }
        s.sync = false;
        if (!s.reading) n = howMuch(s, asked);
      }
      const out = n > 0 && s.length > 0 ? take(s, n) : null;
      if (out === null) { s.needReadable = s.length <= s.highWaterMark; n = 0; } else {
        s.length -= n;
        s.awaitDrain.clear();
      }
      if (s.length === 0) {
        if (!s.ended) s.needReadable = true;
        if (asked !== n && s.ended) finish(this);
      }
      if (out !== null && !s.errored && !s.closeEmitted) { s.dataEmitted = true; this.emit("data", out); }
      return out;
    },
    setEncoding(encoding) {
      const decoder = new StringDecoder(encoding), s = this._readableState;
      s.decoder = decoder;
      s.encoding = decoder.encoding;
      const text = s.buffer.map((b) => decoder.write(b)).join("");
      s.buffer = text === "" ? [] : [text];
      s.length = text.length;
      return this;
    },
    isPaused() { const s = this._readableState; return s.paused || s.flowing === false; },
    pause() {
      const s = this._readableState;
      if (s.flowing !== false) { s.flowing = false; this.emit("pause"); }
      s.paused = true;
      return this;
    },
    resume() {
      const s = this._readableState;
      if (!s.flowing) {
        s.flowing = !s.readableListening;
        if (!s.resumeScheduled) {
          s.resumeScheduled = true;
          tick(() => {
            if (!s.reading) this.read(0);
            s.resumeScheduled = false;
            this.emit("resume");
            flow(this);
            if (s.flowing && !s.reading) this.read(0);
          });
        }
      }
      s.paused = false;
      return this;
    },
    on(type, f) {
      Stream.prototype.on.call(this, type, f);
      const s = this._readableState;
      if (type === "data") {
        s.readableListening = this.listenerCount("readable") > 0;
        if (s.flowing !== false) this.resume();
      } else if (type === "readable" && !s.endEmitted && !s.readableListening) {
        s.readableListening = s.needReadable = true;
        s.flowing = false;
        s.emittedReadable = false;
        if (s.length) emitReadable(this);
        else if (!s.reading) tick(() => this.read(0));
      }
      return this;
    },
    removeListener(type, f) {
      Stream.prototype.removeListener.call(this, type, f);
      if (type === "readable") tick(listening, this);
      return this;
    },
    removeAllListeners(...args) {
      Stream.prototype.removeAllListeners.apply(this, args);
      if (args[0] === "readable" || args.length === 0) tick(listening, this);
      return this;
    },
    pipe(target, options) {
      const s = this._readableState;
      s.pipes.push(target);
      const ending = options?.end !== false;
      const onEnd = () => target.end();
      const whenEnded = ending ? onEnd : () => unpipe();
      const onDrain = () => {
        s.awaitDrain.delete(target);
        if (s.awaitDrain.size === 0 && this.listenerCount("data")) this.resume();
      };
      const onData = (chunk) => {
        if (target.write(chunk) !== false) return;
        if (s.pipes.includes(target)) { s.awaitDrain.add(target); this.pause(); }
      };
      const onError = (error) => {
        unpipe();
        target.removeListener("error", onError);
        if (target.listenerCount("error") === 0) {
          if (target._writableState || target._readableState) errorOrDestroy(target, error);
          else target.emit("error", error);
        }
      };
      const onClose = () => { target.removeListener("finish", onFinish); unpipe(); };
      const onFinish = () => { target.removeListener("close", onClose); unpipe(); };
      const unpipe = () => this.unpipe(target);
      const onUnpipe = (from, about) => {
        if (from !== this || about?.done) return;
        if (about) about.done = true;
        target.removeListener("close", onClose);
        target.removeListener("finish", onFinish);
        target.removeListener("drain", onDrain);
        target.removeListener("error", onError);
        target.removeListener("unpipe", onUnpipe);
        this.removeListener("end", whenEnded);
        this.removeListener("data", onData);
        if (s.awaitDrain.has(target)) onDrain();
      };
      if (s.endEmitted) tick(whenEnded);
      else this.once("end", whenEnded);
      target.on("unpipe", onUnpipe);
      target.on("drain", onDrain);
      this.on("data", onData);
      target.prependListener("error", onError);
      target.once("close", onClose);
      target.once("finish", onFinish);
      target.emit("pipe", this);
      if (target.writableNeedDrain === true) { s.awaitDrain.add(target); this.pause(); } else if (!s.flowing) this.resume();
      return target;
    },
    unpipe(target) {
      const s = this._readableState;
      if (s.pipes.length === 0) return this;
      const gone = target ? s.pipes.filter((p) => p === target) : s.pipes;
      s.pipes = target ? s.pipes.filter((p) => p !== target) : [];
      if (s.pipes.length === 0) this.pause();
      for (const p of gone) p.emit("unpipe", this, { done: false });
      return this;
    },
    wrap(old) {
      old.on("data", (chunk) => { if (!this.push(chunk)) old.pause?.(); });
      old.on("end", () => this.push(null));
      old.on("error", (e) => errorOrDestroy(this, e));
      old.on("close", () => this.destroy());
      this._read = () => old.resume?.();
      return this;
    },
    iterator(options) { return iterate(this, options); },
    [Symbol.asyncIterator]() { return iterate(this); },
  });
  proto.addListener = proto.on;
  proto.off = proto.removeListener;
  const listening = (stream) => {
    const s = stream._readableState;
    s.readableListening = stream.listenerCount("readable") > 0;
    if (s.resumeScheduled && !s.paused) s.flowing = true;
    else if (stream.listenerCount("data") > 0) stream.resume();
    else if (!s.readableListening) s.flowing = null;
  };
  // iterate gives what a stream holds to for await, and destroys it when that ends.
  const iterate = (stream, options) => {
    let wake = () => {}, error, done = false, busy = 0, last;
    const { finished } = use("streamends");
    stream.on("readable", () => wake());
    const forget = finished(stream, { writable: false }, (e) => { error = e ?? null; wake(); });
    const leave = (destroying) => {
      done = true;
      forget();
      if (destroying && !stream.destroyed) stream.destroy();
    };
    const step = async () => {
      for (;;) {
        if (done) return { value: undefined, done: true };
        const chunk = stream.destroyed ? null : stream.read();
        if (chunk !== null) return { value: chunk, done: false };
        if (error) { const e = error; leave(true); throw e; }
        if (error === null) { leave(true); return { value: undefined, done: true }; }
        await new Promise((resolve) => { wake = resolve; });
      }
    };
    return {
      next() {
        const p = busy++ === 0 ? step() : last.then(step, step);
        const settled = () => { busy--; };
        p.then(settled, settled);
        return (last = p);
      },
      async return(value) { leave(options?.destroyOnReturn !== false); return { value, done: true }; },
      async throw(e) { leave(true); throw e; },
      [Symbol.asyncIterator]() { return this; },
    };
  };
  const state = (name, get) => Object.defineProperty(proto, name, { configurable: true, get() { return get(this._readableState, this); } });
  Object.defineProperty(proto, "readable", {
    configurable: true,
    get() { const s = this._readableState; return !!s && s.readable && !s.destroyed && !s.errorEmitted && !s.endEmitted; },
    set(v) { if (this._readableState) this._readableState.readable = !!v; },
  });
  Object.defineProperty(proto, "destroyed", {
    configurable: true, get() { return this._readableState?.destroyed ?? false; },
    set(v) { if (this._readableState) this._readableState.destroyed = v; },
  });
  Object.defineProperty(proto, "readableFlowing", {
    configurable: true, get() { return this._readableState.flowing; }, set(v) { if (this._readableState) this._readableState.flowing = v; },
  });
  state("readableDidRead", (s) => s.dataEmitted);
  state("readableAborted", (s) => s.readable && (s.destroyed || !!s.errored) && !s.endEmitted);
  state("readableHighWaterMark", (s) => s.highWaterMark);
  state("readableBuffer", (s) => s?.buffer);
  state("readableLength", (s) => s.length);
  state("readableObjectMode", (s) => s?.objectMode ?? false);
  state("readableEncoding", (s) => s?.encoding ?? null);
  state("readableEnded", (s) => s?.endEmitted ?? false);
  state("errored", (s) => s?.errored ?? null);
  state("closed", (s) => s?.closed ?? false);

  // from reads an iterable.
  const from = (C, source, options) => {
    if (typeof source === "string" || Buffer.isBuffer(source)) {
      return new C({ objectMode: true, ...options, read() { this.push(source); this.push(null); } });
    }
    if (!isIterable(source)) invalidArgType("iterable", "Iterable", source);
    const it = source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]();
    const stream = new C({ objectMode: true, highWaterMark: 1, ...options });
    let reading = false;
    stream._read = function () { if (!reading) { reading = true; next(); } };
    stream._destroy = function (error, done) {
      const close = async () => {
        if (error && typeof it.throw === "function") {
          const r = await it.throw(error);
          await r.value;
          if (r.done) return;
        }
        if (typeof it.return === "function") await (await it.return())?.value;
      };
      close().then(() => tick(done, error), (e) => tick(done, e ?? error));
    };
    const next = async () => {
      for (;;) {
        try {
          let r = it.next();
          if (typeof r?.then === "function") r = await r;
          if (r.done) { stream.push(null); return; }
          const value = typeof r.value?.then === "function" ? await r.value : r.value;
          if (value === null) {
            reading = false;
            throw coded(TypeError, "ERR_STREAM_NULL_VALUES", "May not write null values to stream");
          }
          if (stream.push(value)) continue;
          reading = false;
        } catch (e) { stream.destroy(e); }
        return;
      }
    };
    return stream;
  };
  Readable.from = function (source, options) { return from(Readable, source, options); };
  Readable.wrap = (old, options) => new Readable({ objectMode: old.readableObjectMode ?? old.objectMode ?? true, ...options }).wrap(old);
  Readable.toWeb = (stream, options) => use("streamadapters").readableToWeb(stream, options);
  Readable.fromWeb = (stream, options) => use("streamadapters").readableFromWeb(stream, options);
  return { Readable, newReadableState: newState };
})
