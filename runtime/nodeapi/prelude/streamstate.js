// What readable and writable streams share: how they are constructed and destroyed.
(function (host, use) {
  const { coded } = use("errors");
  const EventEmitter = use("events");
  const tick = (f, ...args) => queueMicrotask(() => f(...args));
  function Stream(options) { EventEmitter.call(this, options); }
  Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);
  Object.setPrototypeOf(Stream, EventEmitter);
  const defaults = { bytes: 65536, objects: 16 };
  const getDefaultHighWaterMark = (objectMode) => (objectMode ? defaults.objects : defaults.bytes);
  const setDefaultHighWaterMark = (objectMode, value) => {
    use("errors").check.integer(value, "value", 0);
    defaults[objectMode ? "objects" : "bytes"] = value;
  };
  const highWaterMark = (options, side, objectMode) => {
    const value = options?.highWaterMark ?? options?.[side + "HighWaterMark"];
    if (value === undefined || value === null) return getDefaultHighWaterMark(objectMode);
    if (!Number.isInteger(value) || value < 0) {
      const name = options.highWaterMark !== undefined ? "options.highWaterMark" : `options.${side}HighWaterMark`;
      throw coded(TypeError, "ERR_INVALID_ARG_VALUE", `The property '${name}' is invalid. Received ${host.inspect(value)}`);
    }
    return value;
  };
  // common is what the state of each side has.
  const common = (options) => ({
    constructed: true, destroyed: false, errored: null, errorEmitted: false, closed: false, closeEmitted: false, sync: true,
    autoDestroy: options?.autoDestroy !== false, emitClose: options?.emitClose !== false,
  });
  const sides = (stream) => [stream._readableState, stream._writableState].filter((s) => s);
  const construct = (stream, ready) => {
    if (typeof stream._construct !== "function") return;
    const states = sides(stream);
    for (const s of states) s.constructed = false;
    stream.once("tandem.constructed", ready);
    if (stream.listenerCount("tandem.constructed") > 1) return; // the other side of a duplex began it
    tick(() => {
      let called = false;
      const done = (error) => {
        if (called) return errorOrDestroy(stream, error ?? coded(Error, "ERR_MULTIPLE_CALLBACK", "Callback called multiple times"));
        called = true;
        for (const s of states) s.constructed = true;
        if (states.some((s) => s.destroyed)) stream.emit("tandem.destroy", error);
        else if (error) errorOrDestroy(stream, error, true);
        else tick(() => stream.emit("tandem.constructed"));
      };
      try { stream._construct((error) => tick(done, error)); } catch (e) { tick(done, e); }
    });
  };
  function destroy(error, done) {
    const states = sides(this);
    if (states.some((s) => s.destroyed)) {
      if (typeof done === "function") done();
      return this;
    }
    for (const s of states) { s.destroyed = true; if (error) s.errored ??= error; }
    if (states.every((s) => s.constructed)) teardown(this, error, done);
    else this.once("tandem.destroy", (e) => teardown(this, error ?? e, done));
    return this;
  }
  const teardown = (stream, error, done) => {
    let called = false;
    const finished = (e) => {
      if (called) return;
      called = true;
      const states = sides(stream);
      for (const s of states) { s.closed = true; if (e) s.errored ??= e; }
      if (typeof done === "function") done(e);
      tick(() => {
        if (e) emitError(stream, e);
        for (const s of states) s.closeEmitted = true;
        if (states.some((s) => s.emitClose)) stream.emit("close");
      });
    };
    try { stream._destroy(error ?? null, finished); } catch (e) { finished(e); }
  };
  const emitError = (stream, error) => {
    const states = sides(stream);
    if (states.some((s) => s.errorEmitted)) return;
    for (const s of states) s.errorEmitted = true;
    stream.emit("error", error);
  };
  const errorOrDestroy = (stream, error, sync) => {
    const states = sides(stream);
    if (states.some((s) => s.destroyed)) return;
    if (states.some((s) => s.autoDestroy)) { stream.destroy(error); return; }
    for (const s of states) s.errored ??= error;
    if (sync) tick(emitError, stream, error);
    else emitError(stream, error);
  };
  const shared = {
    destroy, _destroy(error, done) { done(error); },
    [Symbol.for("nodejs.rejection")](error) { this.destroy(error); },
  };
  const isReadable = (s) => !!s && typeof s.pipe === "function" && typeof s.on === "function" &&
    (!s._writableState || s._readableState?.readable !== false);
  const isWritable = (s) => !!s && typeof s.write === "function" && typeof s.on === "function" &&
    (!s._readableState || s._writableState?.writable !== false);
  const isStream = (s) => !!s && (!!s._readableState || !!s._writableState ||
    (typeof s.write === "function" && typeof s.on === "function") || (typeof s.pipe === "function" && typeof s.on === "function"));
  const isIterable = (v) => !!v && (typeof v[Symbol.asyncIterator] === "function" || typeof v[Symbol.iterator] === "function");
  const aborter = (signal, stream) => {
    const { AbortError } = use("errors");
    const abort = () => stream.destroy(new AbortError(undefined, { cause: signal.reason }));
    if (signal.aborted) abort();
    else {
      signal.addEventListener("abort", abort, { once: true });
      use("streamends").finished(stream, () => signal.removeEventListener("abort", abort));
    }
    return stream;
  };
  return {
    Stream, tick, common, highWaterMark, construct, destroy, errorOrDestroy, shared, getDefaultHighWaterMark,
    setDefaultHighWaterMark, isReadable, isWritable, isStream, isIterable, aborter,
  };
})
