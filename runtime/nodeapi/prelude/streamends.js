// How streams end, and pipelines of them.
(function (host, use) {
  const { coded, invalidArgType, check, AbortError } = use("errors");
  const { tick, isReadable, isWritable, isStream, isIterable } = use("streamstate");
  const premature = () => coded(Error, "ERR_STREAM_PREMATURE_CLOSE", "Premature close");
  const nothing = () => {};

  const finished = function finished(stream, options, callback) {
    if (typeof options === "function") { callback = options; options = {}; }
    options ??= {};
    check.object(options, "options");
    check.function(callback, "callback");
    check.signal(options.signal, "options.signal");
    let called = false;
    const done = (...args) => { if (!called) { called = true; callback.apply(stream, args); } };
    if (typeof stream?.getReader === "function" || typeof stream?.getWriter === "function") {
      use("streamadapters").closedOfWeb(stream).then(() => tick(done), (e) => tick(done, e));
      return nothing;
    }
    if (!isStream(stream)) invalidArgType("stream", ["ReadableStream", "WritableStream", "Stream"], stream);
    const r = stream._readableState, w = stream._writableState;
    const readable = options.readable ?? isReadable(stream), writable = options.writable ?? isWritable(stream);
    let ended = r ? r.endEmitted : false, finishedWriting = w ? w.finished : false;
    const onFinish = () => { finishedWriting = true; if (!readable || ended || !isReadable(stream)) end(); };
    const onEnd = () => { ended = true; if (!writable || finishedWriting || !isWritable(stream)) end(); };
    const willClose = [r, w].some((s) => s && s.autoDestroy && s.emitClose && s.closed === false) &&
      readable === isReadable(stream) && writable === isWritable(stream);
    const end = () => { if (!willClose) done(); };
    const onError = (e) => done(e);
    const onClose = () => {
      const error = r?.errored || w?.errored;
      if (error && typeof error !== "boolean") return done(error);
      if (readable && !ended && isReadable(stream) && r && !r.endEmitted) return done(premature());
      if (writable && !finishedWriting && isWritable(stream) && w && !w.finished) return done(premature());
      done();
    };
    stream.on("end", onEnd);
    stream.on("finish", onFinish);
    if (options.error !== false) stream.on("error", onError);
    stream.on("close", onClose);
    if (r?.closed || w?.closed || (!willClose && (r?.errorEmitted || w?.errorEmitted))) tick(onClose);
    else if (!willClose && (!readable || ended) && (!writable || finishedWriting) && (r || w)) tick(onClose);
    const forget = () => {
      callback = nothing;
      stream.removeListener("end", onEnd);
      stream.removeListener("finish", onFinish);
      stream.removeListener("error", onError);
      stream.removeListener("close", onClose);
    };
    const { signal } = options;
    if (signal) {
      const abort = () => { const f = callback; forget(); f.call(stream, new AbortError(undefined, { cause: signal.reason })); };
      if (signal.aborted) tick(abort);
      else {
        signal.addEventListener("abort", abort, { once: true });
        const before = callback;
        callback = (...args) => { signal.removeEventListener("abort", abort); before.apply(stream, args); };
      }
    }
    return forget;
  };

  // pump writes what an iterable gives into a stream.
  const pump = async (source, target, end) => {
    let failed;
    const forget = finished(target, { readable: false }, (e) => { failed = e ?? premature(); wake(); });
    let wake = nothing;
    target.on("drain", () => wake());
    const it = source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]();
    try {
      for (;;) {
        const r = await it.next();
        if (r.done) break;
        if (!target.write(await r.value) && !failed) await new Promise((resolve) => { wake = resolve; });
        if (failed) { await it.return?.(); throw failed; }
      }
      if (end) {
        forget();
        await new Promise((resolve, reject) => {
          finished(target, { readable: false }, (e) => (e ? reject(e) : resolve()));
          target.end();
        });
      }
    } finally { forget(); }
  };
  const run = (streams, callback, options) => {
    if (streams.length < 2) throw coded(TypeError, "ERR_MISSING_ARGS", 'The "streams" argument must be specified');
    const { signal, end = true } = options ?? {};
    check.signal(signal, "options.signal");
    let error, value, open = 0, over = false;
    const destroys = [];
    const fail = (e) => {
      if (e && (!error || error.code === "ERR_STREAM_PREMATURE_CLOSE")) error = e;
      if (!error) return;
      for (const f of destroys.splice(0)) f(error);
    };
    const settle = (e) => {
      open--;
      fail(e);
      if (open > 0 || over) return;
      over = true;
      signal?.removeEventListener("abort", abort);
      for (const f of destroys.splice(0)) f(error);
      tick(callback, error, value);
    };
    const abort = () => fail(new AbortError(undefined, { cause: signal?.reason }));
    const watch = (stream, reading, writing) => {
      open++;
      let ended = false;
      stream.on("close", () => { ended = true; });
      destroys.push((e) => { if (!ended && e && !stream.destroyed) stream.destroy(e); });
      finished(stream, { readable: reading, writable: writing }, (e) => {
        if (e?.code === "ERR_STREAM_PREMATURE_CLOSE" && reading && stream._readableState?.ended && !stream._readableState.errored) {
          stream.once("end", () => settle()).once("error", settle);
          return;
        }
        settle(e);
      });
    };
    const last = streams.length - 1;
    let result;
    open++;
    for (let n = 0; n <= last; n++) {
      const s = streams[n];
      const more = end || n < last;
      if (isStream(s) && more) watch(s, n < last, n > 0);
      if (n === 0) {
        if (typeof s === "function") {
          result = s({ signal });
          if (!isIterable(result)) throw coded(TypeError, "ERR_INVALID_RETURN_VALUE", 'Expected Iterable, AsyncIterable or Stream to be returned from the "source" function');
        } else if (isIterable(s) || isReadable(s)) result = s;
        else if (typeof s?.getReader === "function") result = use("streamadapters").readableFromWeb(s);
        else result = use("streamduplex").Duplex.from(s);
      } else if (typeof s === "function") {
        result = s(isIterable(result) ? result : use("streamreadable").Readable.from(result), { signal });
        if (n === last && !isIterable(result) && typeof result?.then === "function") {
          open++;
          result.then((v) => { value = v; settle(); }, settle);
        }
      } else if (isStream(s)) {
        if (isStream(result)) {
          result.pipe(s, { end: more });
        } else {
          open++;
          pump(result, s, more).then(() => settle(), settle);
        }
        result = s;
      } else if (typeof s?.getWriter === "function") {
        open++;
        const target = use("streamadapters").writableFromWeb(s);
        pump(result, target, more).then(() => settle(), settle);
        result = target;
      } else invalidArgType(`streams[${n}]`, ["Stream", "Function"], s);
    }
    if (signal?.aborted) tick(abort);
    else signal?.addEventListener("abort", abort, { once: true });
    tick(settle);
    return result;
  };
  const pipeline = function pipeline(...streams) {
    const callback = streams.pop();
    check.function(callback, "streams[stream.length - 1]");
    if (streams.length === 1 && Array.isArray(streams[0])) [streams] = streams;
    return run(streams, callback);
  };
  const promises = {
    finished: (stream, options) => new Promise((resolve, reject) => {
      const forget = finished(stream, options, (e) => { if (options?.cleanup) forget(); if (e) reject(e); else resolve(); });
    }),
    pipeline: (...streams) => new Promise((resolve, reject) => {
      let options;
      const last = streams.at(-1);
      if (last && typeof last === "object" && !isStream(last) && !isIterable(last) && !last.getWriter && !last.getReader) options = streams.pop();
      if (streams.length === 1 && Array.isArray(streams[0])) [streams] = streams;
      run(streams, (e, value) => (e ? reject(e) : resolve(value)), options);
    }),
  };
  return { finished, pipeline, promises };
})
