// zlib, without Brotli.
(function (host, use) {
  const { coded, invalidArgType, check, outOfRange, notImplemented } = use("errors");
  const { Buffer } = use("buffer");
  const { Transform } = use("stream");
  const { tick } = use("streamstate");
  const codes = { Z_BUF_ERROR: -5, Z_DATA_ERROR: -3 };
  const constants = {
    Z_NO_FLUSH: 0, Z_PARTIAL_FLUSH: 1, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, Z_BLOCK: 5, Z_OK: 0, Z_STREAM_END: 1,
    Z_NEED_DICT: 2, Z_ERRNO: -1, Z_STREAM_ERROR: -2, ...codes, Z_MEM_ERROR: -4, Z_VERSION_ERROR: -6, Z_NO_COMPRESSION: 0,
    Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1, Z_FILTERED: 1, Z_HUFFMAN_ONLY: 2, Z_RLE: 3, Z_FIXED: 4,
    Z_DEFAULT_STRATEGY: 0, DEFLATE: 1, INFLATE: 2, GZIP: 3, GUNZIP: 4, DEFLATERAW: 5, INFLATERAW: 6, UNZIP: 7, BROTLI_DECODE: 8,
    BROTLI_ENCODE: 9, Z_MIN_WINDOWBITS: 8, Z_MAX_WINDOWBITS: 15, Z_DEFAULT_WINDOWBITS: 15, Z_MIN_CHUNK: 64, Z_MAX_CHUNK: Infinity,
    Z_DEFAULT_CHUNK: 16384, Z_MIN_LEVEL: -1, Z_MAX_LEVEL: 9, Z_DEFAULT_LEVEL: -1, Z_DEFAULT_MEMLEVEL: 8,
  };
  const bytes = (v) => {
    if (typeof v === "string") return Buffer.from(v);
    if (ArrayBuffer.isView(v) || v instanceof ArrayBuffer) return v;
    return invalidArgType("buffer", ["string", "Buffer", "TypedArray", "DataView", "ArrayBuffer"], v);
  };
  const options = (o) => {
    const level = o?.level ?? -1;
    if (typeof level !== "number") invalidArgType("options.level", "number", level);
    if (!(level >= -1 && level <= 9)) throw outOfRange("options.level", ">= -1 and <= 9", level);
    if (o?.dictionary !== undefined) throw notImplemented("zlib with a dictionary");
    return [level, o?.maxOutputLength ?? 0];
  };
  const run = (kind, data, o) => {
    const result = host.zlib(kind, bytes(data), ...options(o));
    if (typeof result !== "string") return Buffer.from(result);
    const [code, message] = result.split("|");
    if (code === "ERR_BUFFER_TOO_LARGE") throw coded(RangeError, code, message);
    const e = new Error(message);
    e.errno = codes[code];
    e.code = code;
    throw e;
  };
  const kinds = ["Deflate", "Inflate", "Gzip", "Gunzip", "DeflateRaw", "InflateRaw", "Unzip"];
  const api = { constants, codes: { ...codes }, crc32: (data, value = 0) => host.crc32(bytes(data), value) };
  for (const kind of kinds) {
    const name = kind[0].toLowerCase() + kind.slice(1);
    // A stream holds all of its input until the end.
    const C = function (o) {
      if (!(this instanceof C)) return new C(o);
      options(o);
      Object.defineProperty(this, "_parts", { value: [] });
      Object.defineProperty(this, "_options", { value: o });
      this.bytesWritten = 0;
      Transform.call(this, o);
    };
    Object.setPrototypeOf(C.prototype, Transform.prototype);
    Object.setPrototypeOf(C, Transform);
    Object.defineProperty(C, "name", { value: kind });
    Object.assign(C.prototype, {
      _transform(chunk, encoding, done) { this._parts.push(chunk); this.bytesWritten += chunk.length; done(); },
      _flush(done) {
        let b;
        try { b = run(name, Buffer.concat(this._parts), this._options); } catch (e) { done(e); return; }
        done(null, b);
      },
      flush(how, done) { tick(typeof how === "function" ? how : done ?? (() => {})); },
      close(done) { if (done) tick(done); this.destroy(); },
      params(level, strategy, done) { tick(done); },
    });
    api[kind] = C;
    api["create" + kind] = (o) => new C(o);
    api[name + "Sync"] = (data, o) => run(name, data, o);
    api[name] = (data, o, done) => {
      if (typeof o === "function") { done = o; o = undefined; }
      check.function(done, "callback");
      let b;
      try { b = run(name, data, o); } catch (e) {
        if (e instanceof TypeError) throw e;
        tick(done, e);
        return;
      }
      tick(done, null, b);
    };
  }
  for (const name of ["brotliCompress", "brotliCompressSync", "brotliDecompress", "brotliDecompressSync", "createBrotliCompress",
    "createBrotliDecompress", "BrotliCompress", "BrotliDecompress"]) {
    api[name] = { [name]: function () { throw notImplemented("zlib." + name); } }[name];
  }
  return Object.assign(api, constants);
})
