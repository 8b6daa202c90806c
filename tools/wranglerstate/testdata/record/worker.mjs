// The Worker whose state the tests import. It stores every kind of value that workerd can keep; import_test.go has the
// same table.
import { DurableObject } from "cloudflare:workers";

const alarmAt = Date.UTC(2100, 0, 1, 0, 0, 0, 123);

function values() {
  const cycle = { name: "cycle" };
  cycle.self = cycle;
  const shared = [1];
  const sparse = [];
  sparse[1000] = "far";
  const buffer = new ArrayBuffer(16);
  new Uint8Array(buffer).set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  return {
    "": "the empty key",
    "array": [1, "two", null, undefined, [3]],
    "array holes": [1, , 3],
    "array sparse": sparse,
    "array with property": Object.assign([1], { extra: true }),
    "bigint": 1234567890123456789012345678901234567890n,
    "bigint negative": -1n,
    "bigint zero": 0n,
    "boxed bigint": Object(7n),
    "boxed boolean": Object(false),
    "boxed number": Object(1.5),
    "boxed string": Object("boxed"),
    "buffer": buffer,
    "buffer resizable": new ArrayBuffer(4, { maxByteLength: 8 }),
    "class instance": new (class Point { constructor() { this.x = 1; this.y = 2; } })(),
    "cycle": cycle,
    "date": new Date(Date.UTC(2026, 10, 30, 12, 0, 0, 5)),
    "date invalid": new Date(NaN),
    "error": new TypeError("wrong", { cause: new Error("the cause") }),
    "false": false,
    "map": new Map([["a", 1], [{ key: "object" }, new Map([[1, "one"]])]]),
    "null": null,
    "number": 5,
    "number big": 2 ** 53,
    "number double": 3.25,
    "number infinity": -Infinity,
    "number nan": NaN,
    "number negative": -7,
    "number negative zero": -0,
    "object": { b: 1, a: { nested: [true] }, 7: "index", gone: undefined },
    "regexp": /a+\/é/giu,
    "set": new Set([1, "one", new Set()]),
    "shared": { first: shared, second: shared },
    "string latin": "café",
    "string lone surrogate": "a\ud800b",
    "string long": "x".repeat(3000),
    "string two-byte": "snow \u2603 and 😀",
    "true": true,
    "view bigint64": new BigInt64Array([-1n, 2n]),
    "view data": new DataView(buffer, 2, 4),
    "view float64": new Float64Array([0.5, -0]),
    "view int16": new Int16Array([-1, 300]),
    "view uint8": new Uint8Array(buffer, 4, 3),
    "view uint8 clamped": new Uint8ClampedArray([0, 255]),
    "ключ 😀": "keys are UTF-8",
    "\ufffd": "before the astral key",
    "\u{1f600}": "after U+FFFD",
  };
}

class Recorded extends DurableObject {
  async fetch(request) {
    const { storage, id } = this.ctx;
    switch (new URL(request.url).pathname) {
      case "/values":
        for (const [key, value] of Object.entries(values())) await storage.put(key, value);
        break;
      case "/small":
        await storage.put("greeting", "hello");
        break;
      case "/alarm":
        await storage.setAlarm(alarmAt);
        break;
      case "/unset":
        await storage.setAlarm(alarmAt);
        await storage.deleteAlarm();
        break;
      case "/headers": // an object of the platform's own, which no other engine knows
        await storage.put({ headers: new Headers({ a: "b" }), plain: 1 });
        break;
      case "/tables":
        storage.sql.exec("CREATE TABLE messages (id INTEGER PRIMARY KEY, text TEXT)");
        storage.sql.exec("INSERT INTO messages (text) VALUES ('one'), ('two')");
        break;
      case "/touch": // it gets a database and stores nothing
        break;
      default:
        return new Response("no such path", { status: 404 });
    }
    await storage.sync();
    return new Response(id.toString());
  }
  alarm() {}
}

export class Room extends Recorded {}
export class Ledger extends Recorded {}

export default {
  async fetch(request, env) {
    const { searchParams } = new URL(request.url);
    const namespace = env[searchParams.get("class")];
    const name = searchParams.get("name");
    const id = name === null ? namespace.newUniqueId() : namespace.idFromName(name);
    return namespace.get(id).fetch(request);
  },
};
