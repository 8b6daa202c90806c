import { area } from "../probe.js";
import * as crypto from "node:crypto";
import { Buffer } from "node:buffer";
const zlib = await import(["node", "zlib"].join(":")).catch(() => ({}));

const attempt = (run) => { try { return run(); } catch (e) { return `${e.name}: ${e.message} ${e.code}`; } };

area("nodecrypto", {
  worker: {
    "hashes": () => ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha512-256", "ripemd160", "SHA256", "sha3-256"].map((a) => attempt(() => crypto.createHash(a).update("a").digest("hex").slice(0, 16))),
    "hash of parts": () => crypto.createHash("sha256").update("a").update(Buffer.from("b")).update(new Uint8Array([99])).digest("base64"),
    "hash by another encoding": () => crypto.createHash("md5").update("6162", "hex").digest("base64url"),
    "hash twice": () => { const h = crypto.createHash("md5"); h.digest(); return [attempt(() => h.update("a")), attempt(() => h.digest())]; },
    "hash copies": () => { const h = crypto.createHash("sha1").update("a"); const c = h.copy(); return [h.update("b").digest("hex").slice(0, 8), c.digest("hex").slice(0, 8)]; },
    "hash of others": () => [attempt(() => crypto.createHash("sha1").update(5)), attempt(() => crypto.createHash("x")), attempt(() => crypto.createHash()), attempt(() => crypto.createHash("sha1").update())],
    "hash's kinds": () => [Buffer.isBuffer(crypto.createHash("md5").digest()), crypto.createHash("md5").digest().length, typeof crypto.createHash("md5").digest("latin1")],
    "hash in one": () => typeof crypto.hash === "function" ? [crypto.hash("sha1", "a"), attempt(() => crypto.hash("x", "a"))] : "none",
    "hash as a stream": async () => { const h = crypto.createHash("sha256"); h.write("a"); h.end(); return new Promise((r) => h.on("readable", () => { const d = h.read(); if (d) r(d.toString("hex").slice(0, 16)); })); },
    "hashes' names": () => [crypto.getHashes().includes("sha256"), crypto.getCiphers?.().length > 0, crypto.getCurves?.().length > 0],
    "hmac": () => [crypto.createHmac("sha256", "k").update("a").digest("hex"), crypto.createHmac("md5", Buffer.from("k")).update("a").digest("base64"), attempt(() => crypto.createHmac("x", "k")), attempt(() => crypto.createHmac("sha1", 5)), crypto.createHmac("sha1", crypto.createSecretKey(Buffer.from("k"))).digest("hex").slice(0, 8)],
    "random": () => [crypto.randomBytes(4).length, crypto.randomInt(3) < 3, crypto.randomInt(5, 6), /^[-0-9a-f]{36}$/.test(crypto.randomUUID()), attempt(() => crypto.randomBytes(-1)), attempt(() => crypto.randomInt(5, 5)), crypto.randomFillSync(Buffer.alloc(2)).length],
    "random by a callback": () => new Promise((r) => crypto.randomBytes(3, (e, b) => r([e, b.length]))),
    "timingSafeEqual": () => [crypto.timingSafeEqual(Buffer.from("a"), Buffer.from("a")), attempt(() => crypto.timingSafeEqual(Buffer.from("a"), Buffer.from("ab"))), attempt(() => crypto.timingSafeEqual("a", "a"))],
    "pbkdf2": async () => [crypto.pbkdf2Sync("p", "s", 10, 16, "sha256").toString("hex"), await new Promise((r) => crypto.pbkdf2("p", "s", 1, 8, "sha1", (e, k) => r([e, k.toString("hex")]))), attempt(() => crypto.pbkdf2Sync("p", "s", 0, 8, "sha1")), attempt(() => crypto.pbkdf2Sync("p", "s", 1, 8, "x")), attempt(() => crypto.pbkdf2Sync("p", "s", 1, 8))],
    "scrypt": async () => [crypto.scryptSync("p", "s", 16, { N: 16 }).toString("hex"), await new Promise((r) => crypto.scrypt("p", "s", 8, (e, k) => r([e, k.length]))), attempt(() => crypto.scryptSync("p", "s", 16, { N: 15 })), attempt(() => crypto.scryptSync("p", "s"))],
    "hkdf": () => [Buffer.from(crypto.hkdfSync("sha256", "k", "s", "i", 16)).toString("hex"), attempt(() => crypto.hkdfSync("x", "k", "s", "i", 16))],
    "ciphers": () => { const k = Buffer.alloc(16, 1), iv = Buffer.alloc(16, 2); return ["aes-128-cbc", "aes-128-ctr", "aes-128-ecb"].map((a) => attempt(() => { const c = crypto.createCipheriv(a, k, a.endsWith("ecb") ? null : iv); const e = Buffer.concat([c.update("hello"), c.final()]); const d = crypto.createDecipheriv(a, k, a.endsWith("ecb") ? null : iv); return e.toString("hex") + " " + d.update(e, undefined, "utf8") + d.final("utf8"); })); },
    "gcm": () => attempt(() => { const k = Buffer.alloc(32, 1), iv = Buffer.alloc(12, 2); const c = crypto.createCipheriv("aes-256-gcm", k, iv); c.setAAD(Buffer.from("a")); const e = c.update("hello", "utf8", "hex") + c.final("hex"); const t = c.getAuthTag(); const d = crypto.createDecipheriv("aes-256-gcm", k, iv); d.setAAD(Buffer.from("a")); d.setAuthTag(t); return [e, t.toString("hex"), d.update(e, "hex", "utf8") + d.final("utf8")]; }),
    "cipher's arguments": () => [attempt(() => crypto.createCipheriv("x", Buffer.alloc(16), Buffer.alloc(16))), attempt(() => crypto.createCipheriv("aes-128-cbc", Buffer.alloc(3), Buffer.alloc(16))), attempt(() => crypto.createCipheriv("aes-128-cbc", Buffer.alloc(16), Buffer.alloc(3)))],
    "keys": () => { const k = crypto.createSecretKey(Buffer.from("abc")); return [k.type, k.symmetricKeySize, k.export().toString(), k.export({ format: "jwk" }), Object.prototype.toString.call(k)]; },
    "sign": () => attempt(() => { const { privateKey, publicKey } = crypto.generateKeyPairSync("ed25519"); const s = crypto.sign(null, Buffer.from("a"), privateKey); return [s.length, crypto.verify(null, Buffer.from("a"), publicKey, s), privateKey.asymmetricKeyType, publicKey.type]; }),
    "webcrypto": () => [crypto.webcrypto === globalThis.crypto, typeof crypto.webcrypto.subtle, crypto.subtle === globalThis.crypto.subtle, typeof crypto.getRandomValues],
    "zlib": () => [zlib.gunzipSync(zlib.gzipSync("abc")).toString(), zlib.inflateSync(zlib.deflateSync(Buffer.from("abc"))).toString(), zlib.inflateRawSync(zlib.deflateRawSync("abc")).toString(), zlib.unzipSync(zlib.gzipSync("u")).toString(), attempt(() => zlib.gunzipSync("not gzip")), zlib.crc32?.("abc"), zlib.constants.Z_BEST_SPEED],
    "zlib by a callback": () => new Promise((r) => zlib.gzip("abc", (e, b) => r([e, zlib.gunzipSync(b).toString()]))),
  },
});
