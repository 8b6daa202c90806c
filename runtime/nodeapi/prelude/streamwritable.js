// Writable streams.
(function (host, use) {
  const { coded, invalidArgType } = use("errors");
  const { Buffer } = use("buffer");
  const { Stream, tick, common, highWaterMark, construct, destroy, errorOrDestroy, shared, aborter } = use("streamstate");

  const destroyedError = (name) => coded(Error, "ERR_STREAM_DESTROYED", `Cannot call ${name} after a stream was destroyed`);
  const nothing = () => {};
  const newState = (options, duplex) => {
    const objectMode = !!(options?.objectMode || (duplex && options?.writableObjectMode));
    return {
      ...common(options), objectMode, highWaterMark: highWaterMark(options, duplex ? "writable" : "", objectMode), length: 0,
      buffered: [], writing: false, corked: 0, ending: false, ended: false, finished: false, prefinished: false,
      finalCalled: false, needDrain: false, pending: 0, processing: false, writable: true, size: 0, done: null, callbacks: [],
      decodeStrings: options?.decodeStrings !== false, defaultEncoding: options?.defaultEncoding ?? "utf8",
    };
  };
  function Writable(options) {
    const duplex = this instanceof use("streamduplex").Duplex;
    if (!duplex && !(this instanceof Writable)) return new Writable(options);
    this._writableState ??= newState(options, duplex);
    if (typeof options?.write === "function") this._write = options.write;
    if (typeof options?.writev === "function") this._writev = options.writev;
    if (typeof options?.destroy === "function") this._destroy = options.destroy;
    if (typeof options?.final === "function") this._final = options.final;
    if (typeof options?.construct === "function") this._construct = options.construct;
    if (!duplex) {
      if (options?.signal) aborter(options.signal, this);
      Stream.call(this, options);
      construct(this, () => ready(this));
    }
  }
  Object.setPrototypeOf(Writable.prototype, Stream.prototype);
  Object.setPrototypeOf(Writable, Stream);
  const proto = Writable.prototype;
  Object.defineProperty(Writable, Symbol.hasInstance, {
    value(o) {
      return Function.prototype[Symbol.hasInstance].call(this, o) || (this === Writable && !!o?._writableState && o instanceof Stream);
    },
  });
  const ready = (stream) => {
    const s = stream._writableState;
    if (!s.writing) flush(stream, s);
    finishMaybe(stream, s);
  };
  const write = (stream, chunk, encoding, done) => {
    const s = stream._writableState;
    if (typeof encoding === "function") { done = encoding; encoding = s.defaultEncoding; }
    encoding ||= s.defaultEncoding;
    if (encoding !== "buffer" && !Buffer.isEncoding(encoding)) throw coded(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${encoding}`);
    if (typeof done !== "function") done = nothing;
    if (chunk === null) throw coded(TypeError, "ERR_STREAM_NULL_VALUES", "May not write null values to stream");
    if (!s.objectMode) {
      if (typeof chunk === "string") {
        if (s.decodeStrings) { chunk = Buffer.from(chunk, encoding); encoding = "buffer"; }
      } else if (Buffer.isBuffer(chunk)) encoding = "buffer";
      else if (ArrayBuffer.isView(chunk)) {
        chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
        encoding = "buffer";
      } else invalidArgType("chunk", ["string", "Buffer", "TypedArray", "DataView"], chunk);
    }
    let error;
    if (s.ending) error = coded(Error, "ERR_STREAM_WRITE_AFTER_END", "write after end");
    else if (s.destroyed) error = destroyedError("write");
    if (error) {
      tick(done, error);
      errorOrDestroy(stream, error, true);
      return error;
    }
    s.pending++;
    const size = s.objectMode ? 1 : chunk.length;
    s.length += size;
    const more = s.length < s.highWaterMark;
    if (!more) s.needDrain = true;
    if (s.writing || s.corked || s.errored || !s.constructed) s.buffered.push({ chunk, encoding, done });
    else begin(stream, s, { chunk, encoding, done }, size);
    return more && !s.errored && !s.destroyed;
  };
  const begin = (stream, s, item, size) => {
    s.size = size;
    s.done = item.done;
    s.writing = s.sync = true;
    if (s.destroyed) written(stream, destroyedError("write"));
    else {
      const finished = (e) => written(stream, e);
      if (item.all) stream._writev(item.all, finished);
      else stream._write(item.chunk, item.encoding, finished);
    }
    s.sync = false;
  };
  const written = (stream, error) => {
    const s = stream._writableState, { done, sync } = s;
    if (typeof done !== "function") {
      errorOrDestroy(stream, coded(Error, "ERR_MULTIPLE_CALLBACK", "Callback called multiple times"));
      return;
    }
    s.writing = false;
    s.done = null;
    s.length -= s.size;
    s.size = 0;
    if (error) {
      s.errored ??= error;
      if (stream._readableState) stream._readableState.errored ??= error;
      const fail = () => {
        s.pending--;
        done(error);
        failBuffered(s);
        errorOrDestroy(stream, error);
      };
      if (sync) tick(fail);
      else fail();
      return;
    }
    if (s.buffered.length > 0) flush(stream, s);
    const after = () => {
      if (!s.ending && !s.destroyed && s.length === 0 && s.needDrain) { s.needDrain = false; stream.emit("drain"); }
      s.pending--;
      done(null);
      if (s.destroyed) failBuffered(s);
      finishMaybe(stream, s);
    };
    if (sync) tick(after);
    else after();
  };
  const failBuffered = (s) => {
    if (s.writing) return;
    for (const item of s.buffered.splice(0)) {
      s.length -= s.objectMode ? 1 : item.chunk.length;
      item.done(s.errored ?? destroyedError("write"));
    }
    for (const f of s.callbacks.splice(0)) f(s.errored ?? destroyedError("end"));
  };
  const flush = (stream, s) => {
    if (s.corked || s.processing || s.destroyed || !s.constructed) return;
    if (s.buffered.length > 1 && stream._writev) {
      const all = s.buffered;
      s.buffered = [];
      s.pending -= all.length - 1;
      begin(stream, s, { all, done(e) { for (const item of all) item.done(e); } }, s.length);
      return;
    }
    s.processing = true;
    while (s.buffered.length > 0 && !s.writing) {
      const item = s.buffered.shift();
      begin(stream, s, item, s.objectMode ? 1 : item.chunk.length);
    }
    s.processing = false;
  };
  const needFinish = (s) => s.ending && !s.destroyed && s.constructed && s.length === 0 && !s.errored && s.buffered.length === 0 &&
    !s.finished && !s.writing && !s.errorEmitted && !s.closeEmitted;
  const finishMaybe = (stream, s, sync) => {
    if (!needFinish(s)) return;
    if (!s.prefinished && !s.finalCalled) {
      if (typeof stream._final === "function") { s.finalCalled = true; final(stream, s); } else {
        s.prefinished = true;
        stream.emit("prefinish");
      }
    }
    if (s.pending !== 0) return;
    if (sync) {
      s.pending++;
      tick(() => { if (needFinish(s)) finish(stream, s); else s.pending--; });
    } else if (needFinish(s)) { s.pending++; finish(stream, s); }
  };
  const final = (stream, s) => {
    let called = false;
    const done = (error) => {
      if (called) {
        errorOrDestroy(stream, error ?? coded(Error, "ERR_MULTIPLE_CALLBACK", "Callback called multiple times"));
        return;
      }
      called = true;
      s.pending--;
      if (error) {
        for (const f of s.callbacks.splice(0)) f(error);
        errorOrDestroy(stream, error, s.sync);
      } else if (needFinish(s)) {
        s.prefinished = true;
        stream.emit("prefinish");
        s.pending++;
        tick(finish, stream, s);
      }
    };
    s.sync = true;
    s.pending++;
    try { stream._final(done); } catch (e) { done(e); }
    s.sync = false;
  };
  const finish = (stream, s) => {
    s.pending--;
    s.finished = true;
    for (const f of s.callbacks.splice(0)) f();
    stream.emit("finish");
    const r = stream._readableState;
    if (s.autoDestroy && (!r || (r.autoDestroy && (r.endEmitted || r.readable === false)))) stream.destroy();
  };
  const methods = {
    pipe() { errorOrDestroy(this, coded(Error, "ERR_STREAM_CANNOT_PIPE", "Cannot pipe, not readable")); },
    write(chunk, encoding, done) { return write(this, chunk, encoding, done) === true; },
    _write(chunk, encoding, done) {
      if (this._writev) this._writev([{ chunk, encoding }], done);
      else throw coded(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _write() method is not implemented");
    },
    _writev: null,
    cork() { this._writableState.corked++; },
    uncork() {
      const s = this._writableState;
      if (s.corked && --s.corked === 0 && !s.writing) flush(this, s);
    },
    setDefaultEncoding(name) {
      if (!Buffer.isEncoding(name)) throw coded(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${name}`);
      this._writableState.defaultEncoding = String(name).toLowerCase();
      return this;
    },
    end(chunk, encoding, done) {
      const s = this._writableState;
      if (typeof chunk === "function") { done = chunk; chunk = encoding = null; } else if (typeof encoding === "function") {
        done = encoding;
        encoding = null;
      }
      let error;
      if (chunk !== null && chunk !== undefined) {
        const r = write(this, chunk, encoding);
        if (r instanceof Error) error = r;
      }
      if (s.corked) { s.corked = 1; this.uncork(); }
      if (!error) {
        if (!s.errored && !s.ending) {
          s.ending = true;
          finishMaybe(this, s, true);
          s.ended = true;
        } else if (s.finished) error = coded(Error, "ERR_STREAM_ALREADY_FINISHED", "Cannot call end after a stream was finished");
        else if (s.destroyed) error = destroyedError("end");
      }
      if (typeof done === "function") {
        if (error) tick(done, error);
        else if (s.finished) tick(done);
        else s.callbacks.push(done);
      }
      return this;
    },
    destroy(error, done) {
      const s = this._writableState;
      if (!s.destroyed && (s.buffered.length > 0 || s.callbacks.length > 0)) tick(failBuffered, s);
      destroy.call(this, error, done);
      return this;
    },
  };
  Object.assign(proto, shared, methods);
  const accessors = {
    writable: {
      get() { const s = this._writableState; return !!s && s.writable && !s.destroyed && !s.errored && !s.ending && !s.ended; },
      set(v) { if (this._writableState) this._writableState.writable = !!v; },
    },
    destroyed: {
      get() { return this._writableState?.destroyed ?? false; }, set(v) { if (this._writableState) this._writableState.destroyed = v; },
    },
    closed: { get() { return this._writableState?.closed ?? false; } },
    errored: { get() { return this._writableState?.errored ?? null; } },
    writableFinished: { get() { return this._writableState?.finished ?? false; } },
    writableObjectMode: { get() { return this._writableState?.objectMode ?? false; } },
    writableBuffer: { get() { return this._writableState?.buffered; } },
    writableEnded: { get() { return this._writableState?.ending ?? false; } },
    writableNeedDrain: { get() { const s = this._writableState; return !!s && !s.destroyed && !s.ending && s.needDrain; } },
    writableHighWaterMark: { get() { return this._writableState?.highWaterMark; } },
    writableCorked: { get() { return this._writableState?.corked ?? 0; } },
    writableLength: { get() { return this._writableState?.length; } },
    writableAborted: { get() { const s = this._writableState; return s.writable && (s.destroyed || !!s.errored) && !s.finished; } },
  };
  for (const name of Object.keys(accessors)) Object.defineProperty(proto, name, { configurable: true, ...accessors[name] });
  Writable.toWeb = (stream) => use("streamadapters").writableToWeb(stream);
  Writable.fromWeb = (stream, options) => use("streamadapters").writableFromWeb(stream, options);
  return { Writable, methods, accessors, ready };
})
