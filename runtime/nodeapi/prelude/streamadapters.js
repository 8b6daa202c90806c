// Between streams of Node.js and those of the web.
(function (host, use) {
  const { invalidArgType } = use("errors");
  const { tick, isStream, isIterable } = use("streamstate");
  const { finished } = use("streamends");
  const { Readable } = use("streamreadable");
  const { Writable } = use("streamwritable");
  const { Duplex } = use("streamduplex");
  const { Buffer } = use("buffer");
  const aborted = () => new (use("errors").AbortError)();

  const readableToWeb = (stream, options) => {
    if (typeof stream?._readableState !== "object") invalidArgType("streamReadable", "stream.Readable", stream);
    if (stream.destroyed || !stream.readable) {
      return new ReadableStream({ start(c) { if (stream.errored) c.error(stream.errored); else c.close(); } });
    }
    const objects = stream.readableObjectMode;
    const strategy = options?.strategy ?? (objects ? new CountQueuingStrategy({ highWaterMark: stream.readableHighWaterMark }) :
      { highWaterMark: stream.readableHighWaterMark, size: (chunk) => chunk?.byteLength ?? 1 });
    return new ReadableStream({
      start(c) {
        stream.pause();
        let over = false;
        finished(stream, { writable: false }, (e) => {
          if (over) return;
          over = true;
          stream.on("error", () => {});
          if (e?.code === "ERR_STREAM_PREMATURE_CLOSE") e = aborted();
          if (e) c.error(e);
          else c.close();
        });
        stream.on("data", (chunk) => {
          if (over) return;
          if (Buffer.isBuffer(chunk) && !objects) chunk = new Uint8Array(chunk);
          c.enqueue(chunk);
          if (c.desiredSize <= 0) stream.pause();
        });
        stream.pause();
      },
      pull() { stream.resume(); },
      cancel(reason) { stream.on("error", () => {}); stream.destroy(reason instanceof Error ? reason : undefined); },
    }, strategy);
  };
  const readableFromWeb = (web, options) => {
    const reader = web.getReader();
    let closed = false;
    return new Readable({
      ...options,
      read() {
        reader.read().then(({ value, done }) => {
          if (!done) this.push(value);
          else { closed = true; this.push(null); }
        }, (e) => { closed = true; this.destroy(e); });
      },
      destroy(error, done) {
        if (closed) { done(error); return; }
        closed = true;
        reader.cancel(error).then(() => tick(done, error), () => tick(done, error));
      },
    });
  };
  const writableToWeb = (stream) => {
    if (typeof stream?._writableState !== "object") invalidArgType("streamWritable", "stream.Writable", stream);
    let drained = null, ended = null, controller;
    const web = new WritableStream({
      start(c) {
        controller = c;
        stream.on("drain", () => { drained?.resolve(); drained = null; });
        finished(stream, { readable: false }, (e) => {
          stream.on("error", () => {});
          if (e?.code === "ERR_STREAM_PREMATURE_CLOSE") e = aborted();
          if (e) { drained?.reject(e); ended?.reject(e); controller.error(e); } else if (ended) ended.resolve();
          else controller.error(aborted());
          drained = ended = null;
        });
      },
      write(chunk) {
        if (stream.writableNeedDrain || !stream.write(chunk)) {
          drained = Promise.withResolvers();
          return drained.promise;
        }
      },
      close() {
        if (stream.destroyed) return undefined;
        ended = Promise.withResolvers();
        stream.end();
        return ended.promise;
      },
      abort(reason) { stream.on("error", () => {}); stream.destroy(reason instanceof Error ? reason : undefined); },
    }, { highWaterMark: stream.writableHighWaterMark, size: stream.writableObjectMode ? undefined : (chunk) => chunk?.byteLength ?? chunk?.length ?? 1 });
    return web;
  };
  const writableFromWeb = (web, options) => {
    const writer = web.getWriter();
    let closed = false;
    writer.closed.then(() => { closed = true; }, (e) => { closed = true; stream.destroy(e); });
    const stream = new Writable({
      ...options,
      write(chunk, encoding, done) {
        if (typeof chunk === "string" && !stream.writableObjectMode) chunk = Buffer.from(chunk, encoding);
        writer.ready.then(() => writer.write(chunk)).then(() => tick(done), (e) => tick(done, e));
      },
      final(done) {
        if (closed) { done(); return; }
        closed = true;
        writer.close().then(() => tick(done), (e) => tick(done, e));
      },
      destroy(error, done) {
        if (closed) { done(error); return; }
        closed = true;
        (error ? writer.abort(error) : writer.close()).then(() => tick(done, error), () => tick(done, error));
      },
    });
    return stream;
  };
  const join = (r, w, options) => {
    const d = new Duplex({
      readableObjectMode: !!r?.readableObjectMode, writableObjectMode: !!w?.writableObjectMode, ...options, readable: !!r, writable: !!w,
      read() { r.resume(); },
      write(chunk, encoding, done) { w.write(chunk, encoding, done); },
      final(done) { w.end(done); },
      destroy(error, done) { r?.destroy(error ?? undefined); w?.destroy(error ?? undefined); done(error); },
    });
    if (r) {
      r.on("data", (chunk) => { if (!d.push(chunk)) r.pause(); });
      r.on("end", () => d.push(null));
      r.on("error", (e) => d.destroy(e));
      r.pause();
    }
    w?.on("error", (e) => d.destroy(e));
    return d;
  };
  const duplexFromWeb = (pair, options) => join(readableFromWeb(pair.readable, options), writableFromWeb(pair.writable, options), options);
  const duplexFrom = (source) => {
    if (source instanceof Duplex) return source;
    if (isStream(source)) {
      return source._readableState ? join(source, null) : join(null, source);
    }
    if (typeof source?.getReader === "function") return join(readableFromWeb(source), null);
    if (typeof source?.getWriter === "function") return join(null, writableFromWeb(source));
    if (typeof source === "function") {
      const input = new (use("streamduplex").PassThrough)({ objectMode: true });
      const out = source(input);
      if (isIterable(out)) return join(Readable.from(out), input, { objectMode: true });
      const d = join(null, input, { objectMode: true });
      Promise.resolve(out).catch((e) => d.destroy(e));
      return d;
    }
    if (source?.readable || source?.writable) {
      const r = source.readable && (source.readable.getReader ? readableFromWeb(source.readable) : source.readable);
      const w = source.writable && (source.writable.getWriter ? writableFromWeb(source.writable) : source.writable);
      return join(r || null, w || null);
    }
    if (typeof source?.then === "function") {
      return join(Readable.from({ [Symbol.asyncIterator]() {
        let given = false;
        return { async next() {
          if (given) return { value: undefined, done: true };
          given = true;
          return { value: await source, done: false };
        } };
      } }), null);
    }
    if (isIterable(source) || typeof source === "string") return join(Readable.from(source), null, { readableObjectMode: true });
    invalidArgType("body", ["Blob", "ReadableStream", "WritableStream", "Stream", "Iterable", "AsyncIterable", "Function", "Promise"], source);
  };
  const closedOfWeb = (web) => new Promise((resolve, reject) => {
    const watch = web.getReader ? web.getReader() : web.getWriter();
    watch.closed.then(resolve, reject);
    watch.releaseLock();
  });
  return { readableToWeb, readableFromWeb, writableToWeb, writableFromWeb, duplexFromWeb, duplexFrom, closedOfWeb };
})
