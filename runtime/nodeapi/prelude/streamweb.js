// stream/web and stream/consumers.
(function (host, use) {
  const { Buffer } = use("buffer");
  const gather = async (stream) => {
    const parts = [];
    const it = stream[Symbol.asyncIterator]();
    for (let r = await it.next(); !r.done; r = await it.next()) parts.push(r.value);
    return parts;
  };
  const bytes = async (stream) => Buffer.concat((await gather(stream)).map((c) => (typeof c === "string" ? Buffer.from(c) :
    c instanceof Uint8Array ? c : Buffer.from(c.buffer ?? c, c.byteOffset, c.byteLength))));
  const text = async (stream) => {
    const decoder = new TextDecoder();
    let out = "";
    for (const c of await gather(stream)) out += typeof c === "string" ? c : decoder.decode(c, { stream: true });
    return out + decoder.decode();
  };
  const consumers = {
    async arrayBuffer(stream) { const b = await bytes(stream); return b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength); },
    async blob(stream) { return new Blob(await gather(stream)); },
    buffer: bytes, text, async json(stream) { return JSON.parse(await text(stream)); },
  };
  const out = {};
  for (const name of ["ReadableStream", "ReadableStreamDefaultReader", "ReadableStreamBYOBReader", "ReadableStreamBYOBRequest",
    "ReadableByteStreamController", "ReadableStreamDefaultController", "TransformStream", "TransformStreamDefaultController",
    "WritableStream", "WritableStreamDefaultWriter", "WritableStreamDefaultController", "ByteLengthQueuingStrategy",
    "CountQueuingStrategy", "TextEncoderStream", "TextDecoderStream", "CompressionStream", "DecompressionStream"]) {
    Object.defineProperty(out, name, { enumerable: true, configurable: true, get: () => globalThis[name] });
  }
  Object.defineProperty(out, "consumers", { value: consumers });
  return out;
})
