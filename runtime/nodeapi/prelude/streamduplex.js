// Duplex and transform streams.
(function (host, use) {
  const { coded } = use("errors");
  const parts = {};
  function Duplex(options) {
    if (!(this instanceof Duplex)) return new Duplex(options);
    const { Readable } = use("streamreadable"), { Writable, ready } = use("streamwritable");
    if (typeof options?.read === "function") this._read = options.read;
    Readable.call(this, options);
    Writable.call(this, options);
    this.allowHalfOpen = options?.allowHalfOpen !== false;
    if (options?.readable === false) { const s = this._readableState; s.readable = false; s.ended = s.endEmitted = true; }
    if (options?.writable === false) {
      const s = this._writableState;
      s.writable = false;
      s.ending = s.ended = s.finished = true;
    }
    const { aborter, construct } = use("streamstate");
    if (options?.signal) aborter(options.signal, this);
    construct(this, () => {
      ready(this);
      if (this._readableState.needReadable) this.read(0);
    });
  }
  parts.Duplex = Duplex;
  const done = Symbol("kCallback");
  function Transform(options) {
    if (!(this instanceof Transform)) return new Transform(options);
    const hwm = options?.readableHighWaterMark;
    if (hwm === 0) options = { ...options, highWaterMark: null, readableHighWaterMark: 0, writableHighWaterMark: options.writableHighWaterMark || 0 };
    Duplex.call(this, options);
    this._readableState.sync = false;
    this[done] = null;
    if (typeof options?.transform === "function") this._transform = options.transform;
    if (typeof options?.flush === "function") this._flush = options.flush;
    this.on("prefinish", function () { if (this._final !== final) final.call(this); });
  }
  function final(callback) {
    const end = (error, data) => {
      if (error) {
        if (callback) callback(error);
        else this.destroy(error);
        return;
      }
      if (data !== null && data !== undefined) this.push(data);
      this.push(null);
      callback?.();
    };
    if (typeof this._flush === "function" && !this.destroyed) this._flush(end);
    else end();
  }
  function PassThrough(options) {
    if (!(this instanceof PassThrough)) return new PassThrough(options);
    Transform.call(this, options);
  }
  // The classes are tied up once the others are there, which need Duplex themselves.
  const link = () => {
    const { Readable } = use("streamreadable"), { methods, accessors } = use("streamwritable");
    Object.setPrototypeOf(Duplex.prototype, Readable.prototype);
    Object.setPrototypeOf(Duplex, Readable);
    const { pipe, ...rest } = methods;
    Object.assign(Duplex.prototype, rest);
    for (const name of Object.keys(accessors)) {
      if (name in Readable.prototype) continue;
      Object.defineProperty(Duplex.prototype, name, { configurable: true, ...accessors[name] });
    }
    Object.defineProperty(Duplex.prototype, "destroyed", {
      configurable: true,
      get() { return !!this._readableState?.destroyed && !!this._writableState?.destroyed; },
      set(v) { if (this._readableState && this._writableState) { this._readableState.destroyed = v; this._writableState.destroyed = v; } },
    });
    Object.setPrototypeOf(Transform.prototype, Duplex.prototype);
    Object.setPrototypeOf(Transform, Duplex);
    Object.assign(Transform.prototype, {
      _final: final,
      _transform() { throw coded(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _transform() method is not implemented"); },
      _write(chunk, encoding, callback) {
        const r = this._readableState, w = this._writableState, before = r.length;
        this._transform(chunk, encoding, (error, value) => {
          if (error) { callback(error); return; }
          if (value !== null && value !== undefined) this.push(value);
          if (w.ended || before === r.length || r.length < r.highWaterMark) callback();
          else this[done] = callback;
        });
      },
      _read() {
        if (!this[done]) return;
        const callback = this[done];
        this[done] = null;
        callback();
      },
    });
    Object.setPrototypeOf(PassThrough.prototype, Transform.prototype);
    Object.setPrototypeOf(PassThrough, Transform);
    PassThrough.prototype._transform = function (chunk, encoding, callback) { callback(null, chunk); };
    Duplex.from = (source) => use("streamadapters").duplexFrom(source);
    Duplex.toWeb = (stream) => ({
      readable: use("streamadapters").readableToWeb(stream), writable: use("streamadapters").writableToWeb(stream),
    });
    Duplex.fromWeb = (pair, options) => use("streamadapters").duplexFromWeb(pair, options);
  };
  return Object.assign(parts, { Transform, PassThrough, link });
})
