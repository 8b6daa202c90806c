import { area } from "../probe.js";
import { Buffer } from "node:buffer";
import * as buffer from "node:buffer";
import { StringDecoder } from "node:string_decoder";

const attempt = (run) => { try { return run(); } catch (e) { return `${e.name}: ${e.message} ${e.code}`; } };
const hex = (b) => Buffer.from(b).toString("hex");

area("buffer", {
  worker: {
    "module": () => Object.keys(buffer).filter((k) => ["Buffer", "Blob", "File", "SlowBuffer", "atob", "btoa", "constants", "isAscii", "isUtf8", "kMaxLength", "transcode", "kStringMaxLength", "INSPECT_MAX_BYTES"].includes(k)).sort(),
    "alloc": () => [hex(Buffer.alloc(3)), hex(Buffer.alloc(5, "ab")), hex(Buffer.alloc(3, 1)), hex(Buffer.alloc(4, "YQ==", "base64")), Buffer.allocUnsafe(4).length, attempt(() => Buffer.alloc(-1)), attempt(() => Buffer.alloc("5"))],
    "from text": () => ["utf8", "hex", "base64", "base64url", "latin1", "ascii", "utf16le", "binary", "ucs2"].map((e) => hex(Buffer.from("YWJj4pyT", e))),
    "from odd text": () => [hex(Buffer.from("abc", "hex")), hex(Buffer.from("zz", "hex")), hex(Buffer.from("a*b=", "base64")), hex(Buffer.from("\u00e9\u20ac", "latin1")), hex(Buffer.from("\ud83d"))],
    "from others": () => [hex(Buffer.from([1, 256, -1, 1.5, "3", NaN])), hex(Buffer.from(new Uint8Array([1, 2]))), hex(Buffer.from(new Uint16Array([1, 257]))), hex(Buffer.from({ length: 2, 0: 5, 1: 6 })), hex(Buffer.from(new String("ab"))), hex(Buffer.from(Buffer.from("x")))],
    "from buffers shares": () => { const a = new ArrayBuffer(4); const b = Buffer.from(a, 1, 2); b[0] = 7; return [new Uint8Array(a), b.length, b.byteOffset]; },
    "from what cannot be": () => [attempt(() => Buffer.from(5)), attempt(() => Buffer.from(null)), attempt(() => Buffer.from()), attempt(() => Buffer.from({})), attempt(() => Buffer.from("a", "x")), attempt(() => Buffer.from(new ArrayBuffer(2), 3))],
    "toString": () => { const b = Buffer.from("h\u00e9\u20ac"); return ["utf8", "hex", "base64", "base64url", "latin1", "ascii", "utf16le"].map((e) => b.toString(e)); },
    "toString of a part": () => { const b = Buffer.from("abcdef"); return [b.toString("utf8", 1, 3), b.toString("utf8", -5, 2), b.toString("utf8", 4), b.toString("utf8", 4, 2), attempt(() => b.toString("x"))]; },
    "write": () => { const b = Buffer.alloc(6); return [b.write("ab"), b.write("cd", 2), b.write("efgh", 4), b.write("6162", 0, "hex"), b.toString(), b.write("xyz", 1, 2), b.toString(), attempt(() => b.write("a", 9))]; },
    "write of a half character": () => { const b = Buffer.alloc(4); return [b.write("a\u20ac\u20ac"), hex(b)]; },
    "numbers": () => { const b = Buffer.alloc(8); b.writeInt16BE(-2, 0); b.writeUInt32LE(0xdeadbeef, 2); return [hex(b), b.readInt16BE(0), b.readUInt32LE(2), b.readUint8(2), b.readInt8(2), b.readUIntBE(2, 3), b.readIntLE(2, 6)]; },
    "large numbers": () => { const b = Buffer.alloc(8); b.writeBigInt64BE(-5n); const x = b.readBigUInt64BE(); b.writeDoubleLE(1.5); return [x, hex(b), b.readDoubleLE(), b.writeFloatBE(0.5, 4), b.readFloatBE(4)]; },
    "numbers out of range": () => { const b = Buffer.alloc(2); return [attempt(() => b.writeUInt8(256)), attempt(() => b.writeInt8(-129)), attempt(() => b.readUInt16LE(1)), attempt(() => b.readUInt8("0")), attempt(() => b.readInt32LE(0)), attempt(() => b.readUIntBE(0, 7)), attempt(() => b.readUInt8(0.5))]; },
    "compare": () => [Buffer.compare(Buffer.from("a"), Buffer.from("b")), Buffer.from("b").compare(Buffer.from("a")), Buffer.from("a").equals(Buffer.from("a")), Buffer.from("abc").compare(Buffer.from("xbc"), 1, 3, 1, 3), attempt(() => Buffer.from("a").equals("a"))],
    "concat": () => [hex(Buffer.concat([Buffer.from("a"), new Uint8Array([1])])), hex(Buffer.concat([Buffer.from("abc")], 2)), hex(Buffer.concat([Buffer.from("a")], 3)), Buffer.concat([]).length, attempt(() => Buffer.concat("a")), attempt(() => Buffer.concat(["a"]))],
    "copy": () => { const a = Buffer.from("abcd"), b = Buffer.alloc(3); return [a.copy(b), b.toString(), a.copy(b, 1, 2), b.toString(), a.copy(b, 3), a.copy(b, 0, 9) === 0 || "copied"].map(String); },
    "fill": () => [Buffer.alloc(4).fill("ab").toString(), hex(Buffer.alloc(3).fill(0x101)), Buffer.alloc(4, "x").fill("y", 1, 3).toString(), attempt(() => Buffer.alloc(2).fill("a", 0, 5)), hex(Buffer.alloc(2).fill(""))],
    "search": () => { const b = Buffer.from("abcabc"); return [b.indexOf("b"), b.indexOf("b", 2), b.indexOf(Buffer.from("ca")), b.indexOf(98), b.lastIndexOf("b"), b.lastIndexOf("b", -3), b.includes("cab"), b.indexOf(""), b.indexOf("z"), b.indexOf("6263", 0, "hex")]; },
    "slices share": () => { const b = Buffer.from("abc"); const s = b.subarray(1); s[0] = 0x78; return [b.toString(), b.slice(-2).toString(), s instanceof Buffer, b.slice(0, 1).parent === b.buffer]; },
    "swap": () => [hex(Buffer.from("01020304", "hex").swap16()), hex(Buffer.from("01020304", "hex").swap32()), attempt(() => Buffer.from("010203", "hex").swap16())],
    "toJSON": () => [JSON.stringify(Buffer.from("ab")), Buffer.from(JSON.parse(JSON.stringify(Buffer.from("ab")))).toString()],
    "iterate": () => { const b = Buffer.from("ab"); return [[...b], [...b.entries()], [...b.keys()], b.map((x) => x + 1).toString(), b.map((x) => x) instanceof Buffer]; },
    "statics": () => [Buffer.isBuffer(Buffer.alloc(1)), Buffer.isBuffer(new Uint8Array(1)), Buffer.isEncoding("UTF-8"), Buffer.isEncoding("x"), Buffer.byteLength("\u20ac"), Buffer.byteLength("YQ==", "base64"), Buffer.byteLength(new ArrayBuffer(3)), attempt(() => Buffer.byteLength(5)), Buffer.poolSize],
    "made by hand": () => [attempt(() => hex(new Buffer("a"))), attempt(() => Buffer(2).length)],
    "inspect": () => [Buffer.from("abc").inspect(), Buffer.alloc(60).inspect().slice(-20), Buffer.from("").inspect()],
    "transcode": () => [attempt(() => hex(buffer.transcode(Buffer.from("\u20ac"), "utf8", "latin1"))), attempt(() => hex(buffer.transcode(Buffer.from("a"), "utf8", "utf16le"))), attempt(() => buffer.transcode("a", "utf8", "latin1"))],
    "checks": () => [buffer.isUtf8?.(Buffer.from("\u20ac")), buffer.isUtf8?.(Buffer.from([0xff])), buffer.isAscii?.(Buffer.from("a")), buffer.isAscii?.(Buffer.from("\u00e9"))],
    "atob": () => [buffer.btoa("a"), buffer.atob("YQ=="), attempt(() => buffer.atob("*"))],
    "constants": () => [typeof buffer.constants.MAX_LENGTH, typeof buffer.kMaxLength, buffer.INSPECT_MAX_BYTES],
    "latin1Slice and others": () => [typeof Buffer.prototype.latin1Slice, typeof Buffer.prototype.utf8Write, typeof Buffer.prototype.readUintBE, typeof Buffer.of, hex(Buffer.of(1, 2)), typeof Buffer.copyBytesFrom],
    "decoder": () => { const d = new StringDecoder("utf8"); return [d.write(Buffer.from([0xe2, 0x82])), d.write(Buffer.from([0xac])), d.write(Buffer.from([0xe2])), d.end()]; },
    "decoder of utf16": () => { const d = new StringDecoder("utf16le"); return [d.write(Buffer.from([0x61])), d.write(Buffer.from([0, 0x3d, 0xd8])), d.end(Buffer.from([0x00, 0xde]))]; },
    "decoder of base64": () => { const d = new StringDecoder("base64"); return [d.write(Buffer.from("a")), d.write(Buffer.from("bcd")), d.end()]; },
    "decoder of hex": () => [new StringDecoder("hex").end(Buffer.from("ab")), attempt(() => new StringDecoder("x")), new StringDecoder().encoding],
  },
});
