// buffer.
(function (host, use) {
  const { coded, received, invalidArgType, invalidArgValue, outOfRange, check } = use("errors");
  const { encodingName } = host;
  const kMaxLength = 2 ** 53 - 1;
  const kStringMaxLength = 536870888;
  const inspectSymbol = Symbol.for("nodejs.util.inspect.custom");

  class FastBuffer extends Uint8Array {}
  const isView = (v) => ArrayBuffer.isView(v);
  const isBytes = (v) => v instanceof Uint8Array;
  const isAnyBuffer = (v) => v instanceof ArrayBuffer;
  const encoding = (name) => {
    if (name === undefined || name === null || name === "") return "utf8";
    const known = typeof name === "string" ? encodingName(name) : undefined;
    if (known === undefined) throw coded(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${name}`);
    return known;
  };
  const checkSize = (size) => {
    check.number(size, "size");
    if (!(size >= 0 && size <= kMaxLength)) throw outOfRange("size", `>= 0 && <= ${kMaxLength}`, size);
  };
  // One allocation is bounded: the engine would end the process.
  const allocate = (size) => {
    if (size > 268435456) throw new RangeError("Array buffer allocation failed");
    return new FastBuffer(size);
  };
  const fromString = (text, name) => new FastBuffer(host.encode(text, encoding(name)));
  const fromList = (list) => {
    const length = list.length > 0 ? Math.min(list.length, kMaxLength) : 0;
    const b = new FastBuffer(length);
    for (let n = 0; n < length; n++) b[n] = list[n];
    return b;
  };
  const fromArrayBuffer = (source, offset, length) => {
    offset = offset === undefined ? 0 : +offset || 0;
    const most = source.byteLength - offset;
    if (most < 0) throw coded(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", '"offset" is outside of buffer bounds');
    if (length === undefined) length = most;
    else {
      length = +length;
      if (length > 0) {
        if (length > most) throw coded(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", '"length" is outside of buffer bounds');
      } else length = 0;
    }
    return new FastBuffer(source, offset, length);
  };
  const fromObject = (o) => {
    if (isBytes(o)) {
      const b = new FastBuffer(o.length);
      host.copy(b, o);
      return b;
    }
    if (o.length !== undefined || isAnyBuffer(o.buffer)) return typeof o.length === "number" ? fromList(o) : allocate(0);
    if (o.type === "Buffer" && Array.isArray(o.data)) return fromList(o.data);
  };

  function Buffer(value, encodingOrOffset, length) {
    if (typeof value === "number") {
      if (typeof encodingOrOffset === "string") invalidArgType("string", "string", value);
      return Buffer.alloc(value);
    }
    return Buffer.from(value, encodingOrOffset, length);
  }
  Object.setPrototypeOf(Buffer, Uint8Array);
  Buffer.prototype = FastBuffer.prototype;
  Object.defineProperty(Buffer.prototype, "constructor", { value: Buffer, writable: true, configurable: true });
  Object.defineProperty(Buffer, Symbol.species, { configurable: true, get() { return FastBuffer; } });
  const proto = Buffer.prototype;
  Buffer.poolSize = 8192;

  Buffer.from = function from(value, encodingOrOffset, length) {
    if (typeof value === "string") return fromString(value, encodingOrOffset);
    if (typeof value === "object" && value !== null) {
      if (isAnyBuffer(value)) return fromArrayBuffer(value, encodingOrOffset, length);
      const inner = value.valueOf?.();
      if (inner !== value && inner !== null && inner !== undefined && (typeof inner === "string" || typeof inner === "object")) {
        return Buffer.from(inner, encodingOrOffset, length);
      }
      const b = fromObject(value);
      if (b) return b;
      if (typeof value[Symbol.toPrimitive] === "function") {
        const text = value[Symbol.toPrimitive]("string");
        if (typeof text === "string") return fromString(text, encodingOrOffset);
      }
    }
    throw coded(TypeError, "ERR_INVALID_ARG_TYPE", "The first argument must be of type string or an instance of Buffer, " +
      `ArrayBuffer, or Array or an Array-like Object. ${received(value)}`);
  };
  Buffer.copyBytesFrom = function copyBytesFrom(view, offset = 0, length) {
    if (!isView(view)) invalidArgType("view", "TypedArray", view);
    const part = view.subarray(offset, length === undefined ? undefined : offset + length);
    return Buffer.from(part.buffer.slice(part.byteOffset, part.byteOffset + part.byteLength));
  };
  Buffer.of = function of(...items) { return fromList(items); };
  Buffer.alloc = function alloc(size, fill, name) {
    checkSize(size);
    const b = allocate(size);
    if (fill !== undefined && fill !== 0 && size > 0) b.fill(fill, name);
    return b;
  };
  Buffer.allocUnsafe = function allocUnsafe(size) { checkSize(size); return allocate(size); };
  Buffer.allocUnsafeSlow = function allocUnsafeSlow(size) { checkSize(size); return allocate(size); };
  Buffer.isBuffer = function isBuffer(b) { return b instanceof Buffer; };
  Buffer.isEncoding = function isEncoding(name) {
    return typeof name === "string" && name.length !== 0 && encodingName(name) !== undefined;
  };
  Buffer.byteLength = function byteLength(value, name) {
    if (typeof value !== "string") {
      if (isView(value) || isAnyBuffer(value)) return value.byteLength;
      invalidArgType("string", ["string", "Buffer", "ArrayBuffer"], value);
    }
    return host.byteLength(value, encodingName(name === undefined ? "utf8" : String(name)) ?? "utf8");
  };
  Buffer.compare = function compare(a, b) {
    if (!isBytes(a)) invalidArgType("buf1", ["Buffer", "Uint8Array"], a);
    if (!isBytes(b)) invalidArgType("buf2", ["Buffer", "Uint8Array"], b);
    return host.compare(a, b);
  };
  Buffer.concat = function concat(list, length) {
    if (!Array.isArray(list)) invalidArgType("list", "Array", list);
    if (length === undefined) {
      length = 0;
      for (let n = 0; n < list.length; n++) if (list[n].length) length += list[n].length;
    } else check.integer(length, "length", 0);
    const out = allocate(length);
    let at = 0;
    for (let n = 0; n < list.length; n++) {
      const item = list[n];
      if (!isBytes(item)) invalidArgType(`list[${n}]`, ["Buffer", "Uint8Array"], item);
      if (at < length) at += host.copy(at ? out.subarray(at) : out, item);
    }
    return out;
  };

  host.installNumbers(proto);
  const define = (members) => {
    for (const name of Reflect.ownKeys(members)) {
      const d = Object.getOwnPropertyDescriptor(members, name);
      Object.defineProperty(proto, name, { ...d, enumerable: true });
    }
  };
  const clamp = (v, length, otherwise) => {
    v = v === undefined ? otherwise : Math.trunc(+v) || 0;
    if (v < 0) v += length;
    return v < 0 ? 0 : v > length ? length : v;
  };
  const find = (b, value, offset, name, forward) => {
    if (typeof offset === "string") { name = offset; offset = undefined; }
    offset = +offset;
    if (offset !== offset) offset = forward ? 0 : b.length || b.byteLength;
    offset = Math.trunc(Math.max(-2147483648, Math.min(2147483647, offset)));
    if (offset < 0) offset += b.length;
    if (offset < 0) { if (!forward) return -1; offset = 0; }
    let step = 1;
    if (typeof value === "number") value = new FastBuffer([value & 255]);
    else if (typeof value === "string") {
      const e = encoding(name);
      if (e === "utf16le") step = 2;
      value = fromString(value, e);
    } else if (!isBytes(value)) invalidArgType("value", ["number", "string", "Buffer", "Uint8Array"], value);
    if (forward && offset > b.length) return value.length === 0 ? b.length : -1;
    return host.indexOf(b, value, offset, forward, step);
  };
  const toInt = (v, otherwise) => (v === undefined ? otherwise : v);
  define({
    get parent() { return this instanceof Buffer ? this.buffer : undefined; },
    get offset() { return this instanceof Buffer ? this.byteOffset : undefined; },
    toString(name, start, end) {
      const { length } = this;
      if (arguments.length === 0) return host.decode(this, "utf8", 0, length);
      if (start === undefined || start <= 0) start = 0;
      else if (start >= length) return "";
      else start = Math.trunc(start) || 0;
      end = end === undefined || end > length ? length : Math.trunc(end) || 0;
      if (end <= start) return "";
      return host.decode(this, encoding(name), start, end);
    },
    toLocaleString(...args) { return this.toString(...args); },
    toJSON() { return { type: "Buffer", data: this.length > 0 ? Array.from(this) : [] }; },
    equals(other) {
      if (!isBytes(other)) invalidArgType("otherBuffer", ["Buffer", "Uint8Array"], other);
      return this === other || (this.byteLength === other.byteLength && host.compare(this, other) === 0);
    },
    compare(target, targetStart, targetEnd, start, end) {
      if (!isBytes(target)) invalidArgType("target", ["Buffer", "Uint8Array"], target);
      if (arguments.length === 1) return host.compare(this, target);
      const part = (v, name, otherwise, most) => {
        if (v === undefined) return otherwise;
        check.integer(v, name, 0, most);
        return v;
      };
      targetStart = part(targetStart, "targetStart", 0);
      targetEnd = part(targetEnd, "targetEnd", target.length, target.length);
      start = part(start, "sourceStart", 0);
      end = part(end, "sourceEnd", this.length, this.length);
      if (start >= end) return targetStart >= targetEnd ? 0 : -1;
      if (targetStart >= targetEnd) return 1;
      return host.compare(this.subarray(start, end), target.subarray(targetStart, targetEnd));
    },
    indexOf(value, offset, name) { return find(this, value, offset, name, true); },
    lastIndexOf(value, offset, name) { return find(this, value, offset, name, false); },
    includes(value, offset, name) { return find(this, value, offset, name, true) !== -1; },
    copy(target, targetStart, start, end) {
      if (!isBytes(target)) invalidArgType("target", ["Buffer", "Uint8Array"], target);
      const whole = (v, name, otherwise, most) => {
        v = v === undefined ? otherwise : Math.trunc(+v) || 0;
        if (v < 0 || (most !== undefined && v > most)) throw outOfRange(name, most === undefined ? ">= 0" : `>= 0 && <= ${most}`, v);
        return v;
      };
      targetStart = whole(targetStart, "targetStart", 0);
      start = whole(start, "sourceStart", 0, this.length);
      end = whole(end, "sourceEnd", this.length);
      if (targetStart >= target.length || start >= end) return 0;
      return host.copy(target.subarray(targetStart), this.subarray(start, end));
    },
    slice(start, end) { return this.subarray(start, end); },
    subarray(start, end) {
      start = clamp(start, this.length, 0);
      end = clamp(end, this.length, this.length);
      return new FastBuffer(this.buffer, this.byteOffset + start, end > start ? end - start : 0);
    },
    fill(value, start, end, name) {
      if (typeof value === "string" || typeof start === "string") {
        if (typeof start === "string") { name = start; start = undefined; end = undefined; }
        else if (typeof end === "string") { name = end; end = undefined; }
      }
      if (start === undefined) start = 0; else check.integer(start, "offset", 0, this.length);
      if (end === undefined) end = this.length; else check.integer(end, "end", 0, this.length);
      if (typeof value === "string") {
        if (name !== undefined && typeof name !== "string") invalidArgType("encoding", "string", name);
        const bytes = fromString(value, name);
        if (value.length > 0 && bytes.length === 0) throw invalidArgValue("value", value);
        value = bytes;
      } else if (!isBytes(value)) value = new FastBuffer([typeof value === "boolean" ? +value : value & 255]);
      else if (value.length === 0) throw invalidArgValue("value", value);
      if (start < end) host.fill(this, value, start, end);
      return this;
    },
    write(text, offset, length, name) {
      check.string(text, "argument");
      if (typeof offset === "string") { name = offset; offset = 0; length = undefined; }
      else if (typeof length === "string") { name = length; length = undefined; }
      offset = toInt(offset, 0);
      check.integer(offset, "offset", 0, this.length);
      const left = this.length - offset;
      if (length === undefined) length = left;
      else { check.integer(length, "length", 0, this.length); if (length > left) length = left; }
      return host.write(this, text, offset, length, encoding(name));
    },
    [inspectSymbol](depth, options) {
      const most = api.INSPECT_MAX_BYTES;
      let text = host.decode(this, "hex", 0, Math.min(most, this.length)).replace(/(.{2})/g, "$1 ").trim();
      const more = this.length - most;
      if (more > 0) text += ` ... ${more} more byte${more > 1 ? "s" : ""}`;
      const extras = Object.keys(this).filter((k) => !/^\d+$/.test(k));
      if (extras.length > 0) {
        const o = Object.create(null);
        for (const k of extras) o[k] = this[k];
        text += (this.length ? ", " : "") + host.inspect(o, { ...options, breakLength: Infinity }).slice(27, -2);
      }
      return `<${this.constructor.name} ${text}>`;
    },
  });
  proto.inspect = proto[inspectSymbol];
  for (const [size, bits] of [[2, 16], [4, 32], [8, 64]]) {
    define({ ["swap" + bits]() {
      if (this.length % size !== 0) throw coded(RangeError, "ERR_INVALID_BUFFER_SIZE", `Buffer size must be a multiple of ${bits}-bits`);
      host.swap(this, size);
      return this;
    } });
  }
  for (const name of ["ascii", "base64", "base64url", "latin1", "hex", "ucs2", "utf8"]) {
    const e = encodingName(name);
    define({
      [name + "Slice"](start = 0, end = this.length) { return host.decode(this, e, start, end); },
      [name + "Write"](text, offset = 0, length = this.length - offset) { return host.write(this, text, offset, length, e); },
    });
  }

  function SlowBuffer(size) { return Buffer.allocUnsafeSlow(size); }
  SlowBuffer.prototype = Buffer.prototype;
  const isText = (input, test) => {
    if (!isView(input) && !isAnyBuffer(input)) invalidArgType("input", ["ArrayBuffer", "Buffer", "TypedArray"], input);
    return test(input);
  };
  const api = {
    Buffer, SlowBuffer, kMaxLength, kStringMaxLength, INSPECT_MAX_BYTES: 50,
    constants: { MAX_LENGTH: kMaxLength, MAX_STRING_LENGTH: kStringMaxLength },
    Blob: globalThis.Blob, File: globalThis.File, atob: globalThis.atob, btoa: globalThis.btoa,
    isUtf8: (input) => isText(input, host.isUtf8),
    isAscii: (input) => isText(input, (b) => Buffer.from(b.buffer ?? b, b.byteOffset, b.byteLength).every((c) => c < 128)),
    transcode(source, from, to) {
      if (!isBytes(source)) invalidArgType("source", ["Buffer", "Uint8Array"], source);
      const text = host.decode(source, encoding(from), 0, source.length);
      const e = encoding(to);
      if (e === "ascii" || e === "latin1") return fromString(text.replace(e === "ascii" ? /[^\0-\x7f]/g : /[^\0-\xff]/g, "?"), e);
      return fromString(text, e);
    },
    resolveObjectURL() { return undefined; },
  };
  return api;
})
