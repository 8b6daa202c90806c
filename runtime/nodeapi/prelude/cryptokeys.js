// The keys and signatures of crypto.
(function (host, use) {
  const { coded, invalidArgType, invalidArgValue, check } = use("errors");
  const { Buffer } = use("buffer");
  const { tick } = use("streamstate");
  const { Writable } = use("stream");
  const isBytes = (v) => ArrayBuffer.isView(v) || v instanceof ArrayBuffer;
  const constants = {
    RSA_PKCS1_PADDING: 1, RSA_NO_PADDING: 3, RSA_PKCS1_OAEP_PADDING: 4, RSA_PKCS1_PSS_PADDING: 6, RSA_PSS_SALTLEN_DIGEST: -1,
    RSA_PSS_SALTLEN_MAX_SIGN: -2, RSA_PSS_SALTLEN_AUTO: -2, defaultCoreCipherList: "", TLS1_VERSION: 769, TLS1_2_VERSION: 771,
    TLS1_3_VERSION: 772, POINT_CONVERSION_COMPRESSED: 2, POINT_CONVERSION_UNCOMPRESSED: 4, POINT_CONVERSION_HYBRID: 6,
  };
  const secret = Symbol("make");
  class KeyObject {
    #kind; #material;
    constructor(kind, material, guard) {
      if (guard !== secret) throw invalidArgValue("type", kind);
      this.#kind = kind;
      this.#material = material;
    }
    get type() { return this.#kind; }
    static material(k) { return k.#material; }
    static from(k) {
      if (typeof CryptoKey !== "function" || !(k instanceof CryptoKey)) invalidArgType("key", "CryptoKey", k);
      const found = host.webKey(k);
      return Array.isArray(found) ? new KeyObject(found[0], found[1], secret) : new KeyObject("secret", Buffer.from(found), secret);
    }
    equals(other) {
      if (!(other instanceof KeyObject)) invalidArgType("otherKeyObject", "KeyObject", other);
      if (this.type !== other.type) return false;
      if (this.type === "secret") {
        return this.#material.byteLength === other.#material.byteLength && host.timingSafeEqual(this.#material, other.#material);
      }
      return host.samePublic(this.#material, other.#material);
    }
    get symmetricKeySize() { return this.type === "secret" ? this.#material.byteLength : undefined; }
    get asymmetricKeyType() { return this.type === "secret" ? undefined : host.keyDetails(this.#material).type; }
    get asymmetricKeyDetails() {
      if (this.type === "secret") return undefined;
      const { type, ...rest } = host.keyDetails(this.#material);
      return rest;
    }
    export(options) {
      const { format, type } = options ?? {};
      if (this.type === "secret") {
        if (format === "jwk") return { kty: "oct", k: this.#material.toString("base64url") };
        return Buffer.from(this.#material);
      }
      if (format === "jwk") return jwk(this.#material, this.type === "private");
      if (options === undefined) invalidArgType("options", "Object", options);
      if (format !== "pem" && format !== "der") throw invalidArgValue("options.format", format);
      const allowed = this.type === "private" ? ["pkcs8", "pkcs1", "sec1"] : ["spki", "pkcs1"];
      if (!allowed.includes(type)) throw invalidArgValue("options.type", type);
      if (options.cipher !== undefined) throw use("errors").notImplemented("KeyObject.export with a cipher");
      const encoded = host.encodeKey(this.#material, type, format === "pem");
      return format === "pem" ? encoded : Buffer.from(encoded);
    }
    // toCryptoKey imports the key into the web's crypto, which gives a promise here.
    toCryptoKey(algorithm, extractable, usages) {
      const format = this.type === "secret" ? "raw" : this.type === "private" ? "pkcs8" : "spki";
      const bytes = this.type === "secret" ? this.export() : this.export({ type: format, format: "der" });
      return globalThis.crypto.subtle.importKey(format, bytes, algorithm, extractable, usages);
    }
    get [Symbol.toStringTag]() { return "KeyObject"; }
  }
  // jwk takes the fields out of the encoded key; elements of ASN.1 are read one by one.
  const element = (b) => {
    let length = b[1], head = 2;
    if (length & 0x80) { head += length & 0x7f; length = b.readUIntBE(2, length & 0x7f); }
    return { tag: b[0], body: b.subarray(head, head + length), rest: b.subarray(head + length) };
  };
  const elements = (b) => {
    const list = [];
    while (b.length > 0) { const e = element(b); list.push(e.body); b = e.rest; }
    return list;
  };
  const number = (b) => (b[0] === 0 ? b.subarray(1) : b).toString("base64url");
  const jwk = (material, isPrivate) => {
    const { type, namedCurve } = host.keyDetails(material);
    if (type === "rsa") {
      const f = elements(element(Buffer.from(host.encodeKey(material, "pkcs1", false))).body).map(number);
      if (!isPrivate) return { kty: "RSA", n: f[0], e: f[1] };
      return { kty: "RSA", n: f[1], e: f[2], d: f[3], p: f[4], q: f[5], dp: f[6], dq: f[7], qi: f[8] };
    }
    const spki = elements(element(Buffer.from(host.encodeKey(material, "spki", false))).body);
    const point = spki[1].subarray(1);
    if (type === "ec") {
      const size = (point.length - 1) / 2;
      const out = {
        kty: "EC", x: point.subarray(1, 1 + size).toString("base64url"), y: point.subarray(1 + size).toString("base64url"),
        crv: { prime256v1: "P-256", secp384r1: "P-384", secp521r1: "P-521" }[namedCurve],
      };
      if (isPrivate) out.d = elements(element(Buffer.from(host.encodeKey(material, "sec1", false))).body)[1].toString("base64url");
      return out;
    }
    const out = { crv: type === "ed25519" ? "Ed25519" : "X25519" };
    if (isPrivate) {
      const inner = elements(element(Buffer.from(host.encodeKey(material, "pkcs8", false))).body)[2];
      out.d = element(inner).body.toString("base64url");
    }
    return Object.assign(out, { x: point.toString("base64url"), kty: "OKP" });
  };
  // fromJWK writes the DER that a JWK stands for.
  const der = (tag, ...parts) => {
    const body = Buffer.concat(parts);
    const n = body.length;
    const head = n < 128 ? [tag, n] : n < 256 ? [tag, 0x81, n] : [tag, 0x82, n >> 8, n & 255];
    return Buffer.concat([Buffer.from(head), body]);
  };
  const fromJWK = (k, wantPrivate) => {
    const field = (name) => {
      check.string(k[name], `key.${name}`);
      return Buffer.from(k[name], "base64url");
    };
    const integer = (b) => der(2, b[0] & 0x80 ? Buffer.concat([Buffer.alloc(1), b]) : b);
    const isPrivate = wantPrivate && k.d !== undefined;
    if (k.kty === "RSA") {
      const names = isPrivate ? ["n", "e", "d", "p", "q", "dp", "dq", "qi"] : ["n", "e"];
      const list = names.map((name) => integer(field(name)));
      return der(0x30, ...(isPrivate ? [integer(Buffer.alloc(1))] : []), ...list);
    }
    if (k.kty === "EC") {
      const oid = { "P-256": "2a8648ce3d030107", "P-384": "2b81040022", "P-521": "2b81040023" }[k.crv];
      if (!oid) throw coded(Error, "ERR_CRYPTO_INVALID_CURVE", "Invalid JWK EC key curve");
      const curve = der(6, Buffer.from(oid, "hex"));
      const point = der(3, Buffer.from([0, 4]), field("x"), field("y"));
      if (isPrivate) return der(0x30, integer(Buffer.from([1])), der(4, field("d")), der(0xa0, curve), der(0xa1, point));
      return der(0x30, der(0x30, der(6, Buffer.from("2a8648ce3d0201", "hex")), curve), point);
    }
    if (k.kty === "OKP") {
      const id = der(0x30, der(6, Buffer.from(k.crv === "Ed25519" ? "2b6570" : "2b656e", "hex")));
      if (isPrivate) return der(0x30, integer(Buffer.alloc(1)), id, der(4, der(4, field("d"))));
      return der(0x30, id, der(3, Buffer.alloc(1), field("x")));
    }
    throw coded(Error, "ERR_CRYPTO_INVALID_JWK", "Invalid JWK data");
  };
  const isWebKey = (v) => typeof CryptoKey === "function" && v instanceof CryptoKey;
  const parse = (input, wantPrivate, name = "key") => {
    if (isWebKey(input)) return KeyObject.from(input);
    let source = input, format = "pem", type, passphrase;
    if (input !== null && typeof input === "object" && !isBytes(input) && !(input instanceof KeyObject)) {
      ({ key: source, type, passphrase } = input);
      format = input.format ?? "pem";
    }
    if (source instanceof KeyObject) return source;
    if (isWebKey(source)) return KeyObject.from(source);
    if (passphrase !== undefined) throw use("errors").notImplemented("crypto keys with a passphrase");
    let bytes = source;
    if (format === "jwk") {
      check.object(source, "key.key");
      bytes = fromJWK(source, wantPrivate);
      format = "der";
    } else if (typeof source === "string") bytes = Buffer.from(source, input.encoding);
    else if (!isBytes(source)) {
      invalidArgType(name, ["ArrayBuffer", "Buffer", "TypedArray", "DataView", "string", "KeyObject", "CryptoKey"], source);
    }
    const material = host.parseKey(bytes, format, wantPrivate, type ?? "");
    if (material === undefined) throw coded(Error, "ERR_OSSL_UNSUPPORTED", "error:1E08010C:DECODER routines::unsupported");
    return material;
  };
  const createPrivateKey = function createPrivateKey(input) {
    const k = parse(input, true);
    if (k instanceof KeyObject) {
      if (k.type !== "private") throw coded(TypeError, "ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE", `Invalid key object type ${k.type}, expected private.`);
      return k;
    }
    return new KeyObject("private", k, secret);
  };
  const createPublicKey = function createPublicKey(input) {
    const k = parse(input, false);
    if (k instanceof KeyObject) {
      if (k.type !== "private") throw coded(TypeError, "ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE", `Invalid key object type ${k.type}, expected private.`);
      return new KeyObject("public", host.publicOf(KeyObject.material(k)), secret);
    }
    return new KeyObject("public", host.publicOf(k), secret);
  };
  const createSecretKey = function createSecretKey(key, encoding) {
    if (typeof key === "string") key = Buffer.from(key, encoding);
    else if (!isBytes(key)) invalidArgType("key", ["ArrayBuffer", "Buffer", "TypedArray", "DataView", "string"], key);
    return new KeyObject("secret", Buffer.from(Buffer.from(key.buffer ?? key, key.byteOffset, key.byteLength)), secret);
  };
  const privateOf = (k) => KeyObject.material(createPrivateKey(k));
  const publicOf = (k) => {
    const given = isWebKey(k) ? KeyObject.from(k) : isWebKey(k?.key) ? KeyObject.from(k.key) : k;
    const key = given instanceof KeyObject ? given : given?.key instanceof KeyObject ? given.key : createPublicKey(given);
    return KeyObject.material(key);
  };

  const generateKeySync = function generateKeySync(type, options) {
    check.string(type, "type");
    if (type !== "hmac" && type !== "aes") throw invalidArgValue("type", type, "must be a supported key type");
    check.object(options, "options");
    check.integer(options.length, "options.length", 8, 2 ** 31 - 1);
    if (type === "aes" && ![128, 192, 256].includes(options.length)) throw invalidArgValue("options.length", options.length, "must be one of: 128, 192, 256");
    if (options.length > 1 << 20) throw invalidArgValue("options.length", options.length, "is too long");
    const b = Buffer.alloc(options.length >> 3);
    host.randomFill(b);
    return new KeyObject("secret", b, secret);
  };
  const generateKeyPairSync = function generateKeyPairSync(type, options = {}) {
    check.string(type, "type");
    if (!["rsa", "rsa-pss", "ec", "ed25519", "x25519"].includes(type)) throw invalidArgValue("type", type, "must be a supported key type");
    if (type.startsWith("rsa")) check.integer(options.modulusLength, "options.modulusLength", 0);
    if (type === "ec") check.string(options.namedCurve, "options.namedCurve");
    const material = host.generatePair(type, options.modulusLength ?? options.namedCurve);
    const privateKey = new KeyObject("private", material, secret), publicKey = new KeyObject("public", host.publicOf(material), secret);
    return {
      publicKey: options.publicKeyEncoding ? publicKey.export(options.publicKeyEncoding) : publicKey,
      privateKey: options.privateKeyEncoding ? privateKey.export(options.privateKeyEncoding) : privateKey,
    };
  };
  const later = (f, callback, spread = (v) => [v]) => {
    check.function(callback, "callback");
    let v;
    try { v = f(); } catch (e) { tick(callback, e); return; }
    tick(callback, null, ...spread(v));
  };
  const generateKeyPair = function generateKeyPair(type, options, callback) {
    if (typeof options === "function") { callback = options; options = undefined; }
    later(() => generateKeyPairSync(type, options), callback, (v) => [v.publicKey, v.privateKey]);
  };
  Object.defineProperty(generateKeyPair, Symbol.for("tandem.promisify.args"), { value: ["publicKey", "privateKey"] });

  // Signatures.
  const how = (k) => [k?.padding === constants.RSA_PKCS1_PSS_PADDING ? "pss" : "", k?.saltLength ?? -2, k?.dsaEncoding ?? "der"];
  const sign = function sign(algorithm, data, key, callback) {
    if (!isBytes(data)) invalidArgType("data", ["ArrayBuffer", "Buffer", "TypedArray", "DataView"], data);
    const make = () => Buffer.from(host.sign(privateOf(key), data, algorithm, ...how(key)));
    return callback === undefined ? make() : later(make, callback);
  };
  const verify = function verify(algorithm, data, key, signature, callback) {
    if (!isBytes(data)) invalidArgType("data", ["ArrayBuffer", "Buffer", "TypedArray", "DataView"], data);
    if (!isBytes(signature)) invalidArgType("signature", ["ArrayBuffer", "Buffer", "TypedArray", "DataView"], signature);
    const make = () => host.verify(publicOf(key), data, signature, algorithm, ...how(key));
    return callback === undefined ? make() : later(make, callback);
  };
  const collector = (name, methods) => {
    function C(algorithm, options) {
      if (!(this instanceof C)) return new C(algorithm, options);
      check.string(algorithm, "algorithm");
      if (host.newHash(algorithm) === undefined) throw coded(Error, "ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${algorithm}`);
      Object.defineProperty(this, "_parts", { value: [] });
      Object.defineProperty(this, "_algorithm", { value: algorithm });
      Writable.call(this, options);
    }
    use("util").inherits(C, Writable);
    Object.defineProperty(C, "name", { value: name });
    Object.assign(C.prototype, {
      _write(chunk, encoding, done) { this.update(chunk, encoding); done(); },
      update(data, encoding) {
        if (typeof data !== "string" && !isBytes(data)) invalidArgType("data", ["string", "Buffer", "TypedArray", "DataView"], data);
        this._parts.push(typeof data === "string" ? Buffer.from(data, encoding) : Buffer.from(data));
        return this;
      },
    }, methods);
    return C;
  };
  const Sign = collector("Sign", {
    sign(key, encoding) {
      if (!key) throw coded(Error, "ERR_CRYPTO_SIGN_KEY_REQUIRED", "No key provided to sign");
      const b = sign(this._algorithm, Buffer.concat(this._parts), key);
      return encoding && encoding !== "buffer" ? b.toString(encoding) : b;
    },
  });
  const Verify = collector("Verify", {
    verify(key, signature, encoding) {
      if (typeof signature === "string") signature = Buffer.from(signature, encoding);
      return verify(this._algorithm, Buffer.concat(this._parts), key, signature);
    },
  });
  const rsa = (key, data, encrypt) => {
    const padding = key?.padding ?? constants.RSA_PKCS1_OAEP_PADDING;
    const kind = padding === constants.RSA_PKCS1_OAEP_PADDING ? "oaep" : padding === constants.RSA_PKCS1_PADDING ? "pkcs1" : undefined;
    if (kind === undefined) throw invalidArgValue("options.padding", padding);
    if (typeof data === "string") data = Buffer.from(data, key.encoding);
    return Buffer.from(host.rsaCrypt(encrypt ? publicOf(key) : privateOf(key), data, kind, key?.oaepHash ?? "sha1", key?.oaepLabel, encrypt));
  };

  // Agreements.
  const curveSize = { prime256v1: 32, secp256r1: 32, secp384r1: 48, secp521r1: 66 };
  class ECDH {
    #curve; #key;
    constructor(curve) {
      check.string(curve, "curve");
      if (!curveSize[curve]) throw coded(TypeError, "ERR_CRYPTO_INVALID_CURVE", "Invalid EC curve name");
      this.#curve = curve;
    }
    generateKeys(encoding, format) {
      this.#key = generateKeyPairSync("ec", { namedCurve: this.#curve }).privateKey;
      return this.getPublicKey(encoding, format);
    }
    #need() { if (!this.#key) throw coded(Error, "ERR_CRYPTO_ECDH_NO_KEY", "Failed to get ECDH public key"); return this.#key; }
    getPublicKey(encoding, format) {
      const { x, y } = this.#need().export({ format: "jwk" });
      const xs = Buffer.from(x, "base64url"), ys = Buffer.from(y, "base64url");
      const b = format === "compressed" ? Buffer.concat([Buffer.from([2 + (ys.at(-1) & 1)]), xs]) : Buffer.concat([Buffer.from([4]), xs, ys]);
      return encoding && encoding !== "buffer" ? b.toString(encoding) : b;
    }
    getPrivateKey(encoding) {
      const b = Buffer.from(this.#need().export({ format: "jwk" }).d, "base64url");
      return encoding && encoding !== "buffer" ? b.toString(encoding) : b;
    }
    computeSecret(other, inputEncoding, outputEncoding) {
      if (typeof other === "string") other = Buffer.from(other, inputEncoding);
      const size = curveSize[this.#curve], crv = { 32: "P-256", 48: "P-384", 66: "P-521" }[size];
      const invalid = coded(Error, "ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY", "Public key is not valid for specified curve");
      if (other.byteLength !== 1 + 2 * size || other[0] !== 4) throw invalid;
      const point = (from) => Buffer.from(other.subarray(from, from + size)).toString("base64url");
      let key;
      try { key = createPublicKey({ format: "jwk", key: { kty: "EC", crv, x: point(1), y: point(1 + size) } }); } catch { throw invalid; }
      const b = Buffer.from(host.agree(KeyObject.material(this.#need()), KeyObject.material(key)));
      return outputEncoding && outputEncoding !== "buffer" ? b.toString(outputEncoding) : b;
    }
  }
  const diffieHellman = function diffieHellman(options, callback) {
    check.object(options, "options");
    const make = () => Buffer.from(host.agree(KeyObject.material(options.privateKey), KeyObject.material(options.publicKey)));
    return callback === undefined ? make() : later(make, callback);
  };
  const api = {
    KeyObject, createPrivateKey, createPublicKey, createSecretKey, generateKeySync, generateKeyPairSync, generateKeyPair,
    generateKey(type, options, callback) { later(() => generateKeySync(type, options), callback); },
    sign, verify, Sign, Verify, createSign: (algorithm, options) => new Sign(algorithm, options),
    createVerify: (algorithm, options) => new Verify(algorithm, options), publicEncrypt: (key, data) => rsa(key, data, true),
    privateDecrypt: (key, data) => rsa(key, data, false), ECDH, createECDH: (curve) => new ECDH(curve), diffieHellman,
    getCurves: () => ["prime256v1", "secp224r1", "secp384r1", "secp521r1"], constants,
  };
  return { KeyObject, api };
})
