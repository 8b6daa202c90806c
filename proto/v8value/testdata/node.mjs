// Says whether Go and V8 write values alike. `write` prints values as V8 serializes them, one a line in base64; `read` takes the
// lines that Go has made of them, and prints a line for each that v8.deserialize gives another value of. `show` prints what
// the lines on standard input hold.
import { readFileSync } from 'node:fs';
import { inspect, isDeepStrictEqual } from 'node:util';
import v8 from 'node:v8';

// A generator of numbers, the same in each process.
let state = Number(process.argv[3] ?? 1);
function random(n) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * n);
}

const edges = [
  undefined, null, true, false, 0, -0, 1, -1, NaN, Infinity, -Infinity, 0.1, 5e-324, 2 ** 30, 2 ** 31, -(2 ** 31), 2 ** 53,
  0n, -1n, 2n ** 64n, -(2n ** 200n), '', 'a', 'é', '€', '😀', '\ud800', 'a\0b', 'x'.repeat(300), '€'.repeat(300), new Date(0),
  new Date(8.64e15), /a+/giu, /(?:)/, Object(1), Object(true), Object('s'), Object(7n), [], [, 1, , 2], {},
  { a: undefined, 1: 'one', 'é€': 2 }, new Map(), new Set(), new Map([[{}, new Set([NaN])]]), new ArrayBuffer(3),
  new Uint8Array([1, 2, 3]), new Float64Array([0.5, -0]), new BigInt64Array([1n, -1n]), new DataView(new ArrayBuffer(4), 1, 2),
  new Uint16Array(new ArrayBuffer(8), 2, 2), new Error('plain'), new TypeError('type'), Object.assign([1, 2], { extra: true }),
  (() => { const a = []; a[1000] = 1; return a; })(),
  (() => { const o = { name: 'self' }; o.self = o; o.list = [o, { o }]; return o; })(),
  (() => { const shared = { n: 1 }; return [shared, shared, new Map([[shared, shared]])]; })(),
];

// made has some of what was made before, for values that are met twice.
function value(depth, made) {
  const n = random(depth > 0 ? 20 : 10);
  if (n < 10) return edges[random(edges.length)];
  let v;
  if (n < 13) {
    v = {};
    made.push(v);
    for (let i = random(6); i > 0; i--) v['k' + random(1000)] = value(depth - 1, made);
  } else if (n < 16) {
    v = [];
    made.push(v);
    for (let i = random(6); i > 0; i--) v.push(value(depth - 1, made));
  } else if (n === 16) {
    v = new Map();
    for (let i = random(5); i > 0; i--) v.set(random(100), value(depth - 1, made));
  } else if (n === 17) {
    v = new Set();
    for (let i = random(5); i > 0; i--) v.add(random(100));
  } else if (n === 18) {
    v = Uint8Array.from({ length: random(20) }, () => random(256));
  } else {
    v = made.length > 0 ? made[random(made.length)] : null;
  }
  return v;
}

const values = [...edges];
for (let i = 0; i < 2000; i++) values.push(value(5, []));

// What v8.serialize does, but for views, which Node writes in a form of its own and V8 and workerd don't.
function serialize(v) {
  const s = new v8.Serializer();
  s.writeHeader();
  s.writeValue(v);
  return s.releaseBuffer();
}

const lines = () => readFileSync(0, 'utf8').trim().split('\n');
switch (process.argv[2]) {
  case 'write':
    for (const v of values) console.log(serialize(v).toString('base64'));
    break;
  case 'read':
    for (const [i, line] of lines().entries()) {
      const got = v8.deserialize(Buffer.from(line, 'base64'));
      if (!isDeepStrictEqual(got, values[i])) console.log(`${i}: got ${inspect(got)}, want ${inspect(values[i])}`);
    }
    break;
  case 'show':
    for (const line of lines()) console.log(inspect(v8.deserialize(Buffer.from(line, 'base64')), { breakLength: Infinity }));
}
