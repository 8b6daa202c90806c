// string_decoder.
(function (host, use) {
  const { coded, invalidArgType } = use("errors");
  const { Buffer } = use("buffer");
  // need is how many bytes a character has that begins with these.
  const need = (encoding, rest) => {
    if (encoding === "utf8") return rest[0] >= 0xf0 ? 4 : rest[0] >= 0xe0 ? 3 : 2;
    if (encoding === "utf16le") return rest.length > 2 ? 4 : 2;
    return 3;
  };
  function StringDecoder(encoding) {
    const name = host.encodingName(encoding === undefined || encoding === null ? "utf8" : String(encoding));
    if (name === undefined) throw coded(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${encoding}`);
    this.encoding = name;
    Object.defineProperty(this, "_rest", { value: Buffer.alloc(0), writable: true, configurable: true });
  }
  Object.assign(StringDecoder.prototype, {
    write(chunk) {
      if (typeof chunk === "string") return chunk;
      if (!ArrayBuffer.isView(chunk)) invalidArgType("buf", ["Buffer", "TypedArray", "DataView"], chunk);
      let b = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      if (this._rest.length > 0) b = Buffer.concat([this._rest, b]);
      const tail = host.incomplete(b, this.encoding);
      this._rest = tail > 0 ? Buffer.from(b.subarray(b.length - tail)) : Buffer.alloc(0);
      return host.decode(b, this.encoding, 0, b.length - tail);
    },
    end(chunk) {
      let text = chunk !== undefined ? this.write(chunk) : "";
      if (this._rest.length > 0) text += host.decode(this._rest, this.encoding, 0, this._rest.length);
      this._rest = Buffer.alloc(0);
      return text;
    },
    text(chunk, offset) {
      this._rest = Buffer.alloc(0);
      return this.write(chunk.slice(offset));
    },
  });
  Object.defineProperties(StringDecoder.prototype, {
    lastChar: { configurable: true, enumerable: true, get() { return this._rest; } },
    lastNeed: {
      configurable: true, enumerable: true,
      get() { return this._rest.length === 0 ? 0 : need(this.encoding, this._rest) - this._rest.length; },
    },
    lastTotal: {
      configurable: true, enumerable: true,
      get() { return this._rest.length === 0 ? 0 : need(this.encoding, this._rest); },
    },
  });
  return { StringDecoder };
})
