// crypto.
(function (host, use) {
  const { coded, invalidArgType, outOfRange, check, notImplemented } = use("errors");
  const { Buffer } = use("buffer");
  const keys = use("cryptokeys");
  const { tick } = use("streamstate");
  const { Transform } = use("stream");
  const kMaxLength = 2 ** 31 - 1;
  const isBytes = (v) => ArrayBuffer.isView(v) || v instanceof ArrayBuffer;
  // bytes takes text or bytes; name is that of the argument.
  const bytes = (v, name, encoding) => {
    if (typeof v === "string") return Buffer.from(v, encoding === "buffer" ? "utf8" : encoding);
    if (isBytes(v)) return v;
    return invalidArgType(name, ["string", "ArrayBuffer", "Buffer", "TypedArray", "DataView"], v);
  };
  const secretBytes = (v, name) => (v instanceof keys.KeyObject ? v.export() : typeof CryptoKey === "function" && v instanceof CryptoKey ?
    keys.KeyObject.from(v).export() : bytes(v, name));
  const out = (buffer, encoding) => {
    const b = Buffer.from(buffer);
    return encoding && encoding !== "buffer" ? b.toString(encoding) : b;
  };

  // Hashes.
  const finalized = () => coded(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
  const state = new WeakMap();
  // lazily has objects of a class become streams when they are first used as such, which few are.
  const streaming = new WeakMap();
  const lazily = (C) => {
    util().inherits(C, Transform);
    const names = ["_readableState", "_writableState", "_events"];
    const own = (o, name, value) => Object.defineProperty(o, name, { value, writable: true, enumerable: true, configurable: true });
    for (const name of names) {
      Object.defineProperty(C.prototype, name, {
        configurable: true,
        get() {
          if (!state.has(this) && !cipherState.has(this)) return undefined;
          for (const each of names) own(this, each, undefined);
          Transform.call(this, streaming.get(this));
          return this[name];
        },
        set(v) { own(this, name, v); },
      });
    }
  };
  const cipherState = new WeakMap();
  const update = function update(data, encoding) {
    const s = state.get(this);
    if (s.done) throw finalized();
    if (typeof data !== "string" && !ArrayBuffer.isView(data)) invalidArgType("data", ["string", "Buffer", "TypedArray", "DataView"], data);
    host.hashUpdate(s.hash, bytes(data, "data", encoding));
    return this;
  };
  const transform = function (chunk, encoding, done) { this.update(chunk, encoding); done(); };
  function Hash(name, options) {
    if (!(this instanceof Hash)) return new Hash(name, options);
    check.string(name, "algorithm");
    const hash = host.newHash(name);
    if (hash === undefined) throw new Error("Digest method not supported");
    const length = options?.outputLength;
    if (length !== undefined) check.integer(length, "outputLength", 0, 2 ** 32 - 1);
    state.set(this, { hash, done: false, length });
    if (options !== undefined) streaming.set(this, options);
  }
  lazily(Hash);
  function util() { return use("util"); }
  Hash.prototype._transform = transform;
  // What a stream gave can be asked for once more.
  const sum = (s) => (s.value ??= host.hashDigest(s.hash));
  Hash.prototype._flush = function (done) { this.push(out(sum(state.get(this)))); done(); };
  Hash.prototype.update = update;
  Hash.prototype.copy = function copy(options) {
    const s = state.get(this);
    if (s.done) throw finalized();
    const h = Object.create(Hash.prototype);
    if (options !== undefined) streaming.set(h, options);
    state.set(h, { hash: host.hashCopy(s.hash), done: false, length: s.length });
    return h;
  };
  Hash.prototype.digest = function digest(encoding) {
    const s = state.get(this);
    if (s.done) throw finalized();
    s.done = true;
    const b = sum(s);
    if (s.length !== undefined && s.length !== b.byteLength) {
      throw coded(Error, "ERR_OSSL_EVP_NOT_XOF_OR_INVALID_LENGTH", "error:030000B2:digital envelope routines::not XOF or invalid length");
    }
    return out(b, encoding);
  };
  function Hmac(name, key, options) {
    if (!(this instanceof Hmac)) return new Hmac(name, key, options);
    check.string(name, "hmac");
    if (typeof key !== "string" && !isBytes(key) && !(key instanceof keys.KeyObject) && !(key instanceof CryptoKey)) {
      invalidArgType("key", ["string", "ArrayBuffer", "Buffer", "TypedArray", "DataView", "KeyObject", "CryptoKey"], key);
    }
    const hash = host.newHash(name, secretBytes(key, "key"));
    if (hash === undefined) throw coded(TypeError, "ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${name}`);
    state.set(this, { hash, done: false });
    if (options !== undefined) streaming.set(this, options);
  }
  lazily(Hmac);
  Hmac.prototype._transform = transform;
  Hmac.prototype._flush = Hash.prototype._flush;
  Hmac.prototype.update = update;
  Hmac.prototype.digest = function digest(encoding) {
    const s = state.get(this);
    if (s.done) return encoding && encoding !== "buffer" ? "" : Buffer.alloc(0);
    s.done = true;
    return out(sum(s), encoding);
  };
  const hash = function hash(name, data, encoding = "hex") {
    check.string(name, "algorithm");
    return new Hash(name).update(data).digest(encoding);
  };

  // Random values.
  const later = (f, callback) => {
    let value;
    try { value = f(); } catch (e) { tick(callback, e); return; }
    tick(callback, null, value);
  };
  const randomBytes = function randomBytes(size, callback) {
    if (typeof size !== "number") invalidArgType("size", "number", size);
    if (!(size >= 0 && size <= kMaxLength)) throw outOfRange("size", `>= 0 && <= ${kMaxLength}`, size);
    if (callback !== undefined) check.function(callback, "callback");
    const make = () => { const b = Buffer.alloc(Math.trunc(size)); host.randomFill(b); return b; };
    if (callback === undefined) return make();
    later(make, callback);
    return undefined;
  };
  const randomFillSync = function randomFillSync(target, offset = 0, size) {
    if (!isBytes(target)) invalidArgType("buf", ["ArrayBuffer", "ArrayBufferView"], target);
    const unit = target.BYTES_PER_ELEMENT ?? 1;
    check.number(offset, "offset");
    offset *= unit;
    if (offset < 0 || offset > target.byteLength) throw outOfRange("offset", `>= 0 && <= ${target.byteLength}`, offset);
    size = size === undefined ? target.byteLength - offset : size * unit;
    if (size + offset > target.byteLength) throw outOfRange("size + offset", `<= ${target.byteLength}`, size + offset);
    host.randomFill(new Uint8Array(target.buffer ?? target, (target.byteOffset ?? 0) + offset, size));
    return target;
  };
  const randomFill = function randomFill(target, offset, size, callback) {
    if (typeof offset === "function") { callback = offset; offset = size = undefined; } else if (typeof size === "function") {
      callback = size;
      size = undefined;
    }
    check.function(callback, "callback");
    later(() => randomFillSync(target, offset, size), callback);
  };
  const randomInt = function randomInt(min, max, callback) {
    if (max === undefined || typeof max === "function") { callback = max; max = min; min = 0; }
    if (callback !== undefined) check.function(callback, "callback");
    if (!Number.isSafeInteger(min)) invalidArgType("min", "a safe integer", min);
    if (!Number.isSafeInteger(max)) invalidArgType("max", "a safe integer", max);
    if (max <= min) throw outOfRange("max", `greater than the value of "min" (${min})`, max);
    const range = max - min;
    if (!(range <= 2 ** 48 - 1)) throw outOfRange("max - min", `<= ${2 ** 48 - 1}`, range);
    const limit = 2 ** 48 - (2 ** 48 % range);
    const make = () => {
      for (;;) {
        const n = randomBytes(6).readUIntBE(0, 6);
        if (n < limit) return (n % range) + min;
      }
    };
    if (callback === undefined) return make();
    later(make, callback);
    return undefined;
  };
  const randomUUID = function randomUUID(options) {
    if (options !== undefined) check.object(options, "options");
    return globalThis.crypto.randomUUID();
  };
  const timingSafeEqual = function timingSafeEqual(a, b) {
    for (const [name, v] of [["buf1", a], ["buf2", b]]) {
      if (!isBytes(v)) {
        throw coded(TypeError, "ERR_INVALID_ARG_TYPE",
          `The "${name}" argument must be an instance of ArrayBuffer, Buffer, TypedArray, or DataView.`);
      }
    }
    if (a.byteLength !== b.byteLength) {
      throw coded(RangeError, "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH", "Input buffers must have the same byte length");
    }
    return host.timingSafeEqual(a, b);
  };

  // Derived keys.
  const digestName = (name) => {
    check.string(name, "digest");
    if (host.newHash(name) === undefined) throw coded(TypeError, "ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${name}`);
    return name;
  };
  const derive = (args, callback, wrap = (b) => Buffer.from(b)) => {
    if (callback === undefined) return wrap(host.derive(...args));
    host.deriveLater(...args).then((b) => tick(callback, null, wrap(b)), (e) => tick(callback, e));
    return undefined;
  };
  const pbkdf2Args = (password, salt, iterations, length, digest) => {
    if (digest === undefined || digest === null) invalidArgType("digest", "string", digest);
    check.string(digest, "digest");
    password = bytes(password, "password");
    salt = bytes(salt, "salt");
    check.integer(iterations, "iterations", 1, 2147483647);
    check.integer(length, "keylen", 0, 2147483647);
    return ["pbkdf2", password, salt, length, iterations, digestName(digest)];
  };
  const hkdfArgs = (digest, key, salt, info, length) => {
    digest = digestName(digest);
    key = key instanceof keys.KeyObject ? key.export() : bytes(key, "ikm");
    salt = bytes(salt, "salt");
    info = bytes(info, "info");
    check.integer(length, "length", 0, kMaxLength);
    if (info.byteLength > 1024) throw outOfRange("info", "must not contain more than 1024 bytes", info.byteLength);
    return ["hkdf", key, salt, length, info, digest];
  };
  const scryptArgs = (password, salt, length, options = {}) => {
    password = bytes(password, "password");
    salt = bytes(salt, "salt");
    check.integer(length, "keylen", 0, 2147483647);
    const cost = options.N ?? options.cost ?? 16384, block = options.r ?? options.blockSize ?? 8;
    return ["scrypt", password, salt, length, cost, block, options.p ?? options.parallelization ?? 1, options.maxmem ?? 32 << 20];
  };
  const api = {
    pbkdf2(password, salt, iterations, length, digest, callback) {
      if (typeof digest === "function") { callback = digest; digest = undefined; }
      const args = pbkdf2Args(password, salt, iterations, length, digest);
      check.function(callback, "callback");
      derive(args, callback);
    },
    pbkdf2Sync: (...args) => derive(pbkdf2Args(...args)),
    hkdf(digest, key, salt, info, length, callback) {
      const args = hkdfArgs(digest, key, salt, info, length);
      check.function(callback, "callback");
      derive(args, callback, (b) => b);
    },
    hkdfSync: (...args) => derive(hkdfArgs(...args), undefined, (b) => b),
    scrypt(password, salt, length, options, callback) {
      if (typeof options === "function") { callback = options; options = undefined; }
      const args = scryptArgs(password, salt, length, options);
      check.function(callback, "callback");
      derive(args, callback);
    },
    scryptSync: (...args) => derive(scryptArgs(...args)),
  };

  // Ciphers.
  const invalidState = (what) => coded(Error, "ERR_CRYPTO_INVALID_STATE", `Invalid state for operation ${what}`);
  const tagLengths = [4, 8, 12, 13, 14, 15, 16];
  const makeCipher = (name, encrypt) => {
    function Cipher(algorithm, key, iv, options) {
      if (!(this instanceof Cipher)) return new Cipher(algorithm, key, iv, options);
      check.string(algorithm, "cipher");
      const info = host.cipherInfo(algorithm);
      key = secretBytes(key, "key");
      if (iv !== null) iv = bytes(iv, "iv");
      if (info === undefined) throw coded(Error, "ERR_CRYPTO_UNKNOWN_CIPHER", "Unknown cipher");
      if (key.byteLength !== info.keyLength) throw coded(RangeError, "ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length");
      const size = iv?.byteLength ?? 0;
      if (info.mode === "gcm" ? size < 1 : size !== info.ivLength) {
        throw coded(TypeError, "ERR_CRYPTO_INVALID_IV", "Invalid initialization vector");
      }
      const tag = options?.authTagLength;
      const authenticated = info.mode === "gcm" || info.mode === "chacha";
      if (authenticated && tag !== undefined && !tagLengths.includes(tag)) {
        throw coded(TypeError, "ERR_CRYPTO_INVALID_AUTH_TAG", `Invalid authentication tag length: ${tag}`);
      }
      cipherState.set(this, {
        cipher: host.newCipher(algorithm, key, iv ?? Buffer.alloc(0), encrypt, tag), done: false, authenticated, tagged: false, decoder: null,
      });
      if (options !== undefined) streaming.set(this, options);
    }
    lazily(Cipher);
    const text = (s, b, encoding, last) => {
      if (!encoding || encoding === "buffer") return Buffer.from(b);
      s.decoder ??= new (use("string_decoder").StringDecoder)(encoding);
      const t = s.decoder.write(Buffer.from(b));
      return last ? t + s.decoder.end() : t;
    };
    Object.assign(Cipher.prototype, {
      update(data, inputEncoding, outputEncoding) {
        const s = cipherState.get(this);
        if (typeof data !== "string" && !ArrayBuffer.isView(data)) invalidArgType("data", ["string", "Buffer", "TypedArray", "DataView"], data);
        if (s.done) throw invalidState("update");
        return text(s, host.cipherUpdate(s.cipher, bytes(data, "data", inputEncoding)), outputEncoding, false);
      },
      final(outputEncoding) {
        const s = cipherState.get(this);
        if (s.done) throw invalidState("final");
        s.done = true;
        return text(s, host.cipherFinal(s.cipher), outputEncoding, true);
      },
      setAutoPadding(on = true) { host.cipherPadding(cipherState.get(this).cipher, !!on); return this; },
      setAAD(data) {
        const s = cipherState.get(this);
        if (!s.authenticated || s.done) throw invalidState("setAAD");
        host.cipherAAD(s.cipher, bytes(data, "buffer"));
        return this;
      },
      _transform(chunk, encoding, done) { this.push(this.update(chunk, encoding)); done(); },
      _flush(done) { try { this.push(this.final()); } catch (e) { done(e); return; } done(); },
    });
    if (encrypt) {
      Cipher.prototype.getAuthTag = function getAuthTag() {
        const s = cipherState.get(this);
        if (!s.authenticated || !s.done) throw invalidState("getAuthTag");
        return Buffer.from(host.cipherTag(s.cipher));
      };
    } else {
      Cipher.prototype.setAuthTag = function setAuthTag(tag, encoding) {
        const s = cipherState.get(this);
        tag = bytes(tag, "buffer", encoding);
        if (!s.authenticated || s.done || s.tagged) throw invalidState("setAuthTag");
        if (!tagLengths.includes(tag.byteLength)) {
          throw coded(TypeError, "ERR_CRYPTO_INVALID_AUTH_TAG", `Invalid authentication tag length: ${tag.byteLength}`);
        }
        s.tagged = true;
        host.cipherSetTag(s.cipher, tag);
        return this;
      };
    }
    Object.defineProperty(Cipher, "name", { value: name });
    return Cipher;
  };
  const Cipheriv = makeCipher("Cipheriv", true), Decipheriv = makeCipher("Decipheriv", false);
  const ciphers = ["aes-128-cbc", "aes-128-ctr", "aes-128-ecb", "aes-128-gcm", "aes-192-cbc", "aes-192-ctr", "aes-192-ecb",
    "aes-192-gcm", "aes-256-cbc", "aes-256-ctr", "aes-256-ecb", "aes-256-gcm", "chacha20-poly1305"];
  const hashes = ["RSA-MD5", "RSA-SHA1", "RSA-SHA224", "RSA-SHA256", "RSA-SHA384", "RSA-SHA512", "md5", "sha1", "sha224", "sha256",
    "sha3-224", "sha3-256", "sha3-384", "sha3-512", "sha384", "sha512", "sha512-224", "sha512-256"];
  Object.assign(api, {
    Hash, Hmac, Cipheriv, Decipheriv, createHash: (name, options) => new Hash(name, options),
    createHmac: (name, key, options) => new Hmac(name, key, options), hash, randomBytes, pseudoRandomBytes: randomBytes, rng: randomBytes,
    prng: randomBytes, randomFill, randomFillSync, randomInt, randomUUID, timingSafeEqual,
    createCipheriv: (name, key, iv, options) => new Cipheriv(name, key, iv, options),
    createDecipheriv: (name, key, iv, options) => new Decipheriv(name, key, iv, options),
    getHashes: () => [...hashes], getCiphers: () => [...ciphers],
    getCipherInfo(name) {
      const info = host.cipherInfo(String(name));
      if (info === undefined) return undefined;
      const { mode, keyLength, ivLength, blockSize } = info;
      return { mode: mode === "chacha" ? "stream" : mode, name: String(name).toLowerCase(), keyLength,
        ...(mode === "cbc" || mode === "ecb" ? { blockSize } : {}), ...(ivLength ? { ivLength } : {}) };
    },
    getFips: () => 0, setFips() {}, secureHeapUsed: () => ({ total: 0, used: 0, utilization: 0, min: 0 }), setEngine() {},
    ...keys.api,
  });
  for (const name of ["checkPrime", "checkPrimeSync", "generatePrime", "generatePrimeSync", "createDiffieHellman",
    "createDiffieHellmanGroup", "getDiffieHellman", "DiffieHellman", "DiffieHellmanGroup", "Certificate", "X509Certificate",
    "privateEncrypt", "publicDecrypt"]) {
    api[name] = { [name]() { throw notImplemented("crypto." + name); } }[name];
  }
  for (const [name, get] of Object.entries({
    webcrypto: () => globalThis.crypto, subtle: () => globalThis.crypto.subtle,
    getRandomValues: () => (array) => globalThis.crypto.getRandomValues(array), fips: () => false,
  })) Object.defineProperty(api, name, { enumerable: true, configurable: true, get });
  return api;
})
