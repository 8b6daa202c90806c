// Deep comparison, for util and assert.
(function (host) {
  const { kind } = host;
  const hasOwn = (o, key) => Object.prototype.hasOwnProperty.call(o, key);
  const enumerable = (o, key) => Object.prototype.propertyIsEnumerable.call(o, key);
  const typed = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
  const tag = (v) => Object.prototype.toString.call(v);
  const index = /^(0|[1-9]\d*)$/;
  const isObject = (v) => typeof v === "object" && v !== null;
  const bytes = (v) => (ArrayBuffer.isView(v) ? new Uint8Array(v.buffer, v.byteOffset, v.byteLength) : new Uint8Array(v));

  const equal = (a, b, strict, seen) => {
    if (a === b) return a !== 0 || !strict || Object.is(a, b);
    if (strict) {
      if (typeof a !== "object") return typeof a === "number" && Number.isNaN(a) && Number.isNaN(b);
      if (typeof b !== "object" || a === null || b === null) return false;
      if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
    } else {
      if (a === null || typeof a !== "object") {
        // eslint-disable-next-line eqeqeq
        return (b === null || typeof b !== "object") && (a == b || (Number.isNaN(a) && Number.isNaN(b)));
      }
      if (b === null || typeof b !== "object") return false;
    }
    const k = kind(a);
    if (k !== kind(b) || (k !== "Proxy" && tag(a) !== tag(b))) return false;
    if (!contents(a, b, k, strict)) return false;
    return properties(a, b, k, strict, seen);
  };
  // contents compares what is no property and needs no recursion.
  const contents = (a, b, k, strict) => {
    switch (k) {
      case "Array": return a.length === b.length;
      case "Date": return Date.prototype.getTime.call(a) === Date.prototype.getTime.call(b) || (isNaN(a) && isNaN(b));
      case "RegExp": return a.source === b.source && a.flags === b.flags && a.lastIndex === b.lastIndex;
      case "Error": return a.message === b.message && a.name === b.name;
      case "Boxed": return host.boxedClass(a) === host.boxedClass(b) && Object.is(a.valueOf(), b.valueOf());
      case "Set": case "Map": return a.size === b.size;
      case "ArrayBuffer": return a.byteLength === b.byteLength && host.compare(bytes(a), bytes(b)) === 0;
      case "View":
        if (typed.call(a) !== typed.call(b) || a.byteLength !== b.byteLength) return false;
        if (!strict && /^Float/.test(typed.call(a))) return a.every((v, n) => v === b[n]);
        return host.compare(bytes(a), bytes(b)) === 0;
      case "Weak": case "Promise": return false;
    }
    return true;
  };
  const keysOf = (o, k, strict) => {
    let keys = Object.keys(o);
    if (k === "Array" || k === "View" || (k === "Boxed" && host.boxedClass(o) === "String")) {
      // Holes count: an index that is there is compared with the rest.
      keys = k === "Array" ? keys : keys.filter((name) => !index.test(name));
    }
    return strict ? [...keys, ...Object.getOwnPropertySymbols(o).filter((s) => enumerable(o, s))] : keys;
  };
  const properties = (a, b, k, strict, seen) => {
    const keys = keysOf(a, k, strict);
    if (k === "Error") {
      for (const name of ["cause", "errors"]) {
        if (hasOwn(a, name) !== hasOwn(b, name)) return false;
        if (hasOwn(a, name) && !keys.includes(name)) keys.push(name);
      }
    }
    const others = keysOf(b, k, strict);
    if (k !== "Error" && !(k === "Array" && !strict) && keys.length !== others.length) return false;
    for (const key of keys) if (!hasOwn(b, key) && !(k === "Array" && !strict)) return false;
    if (keys.length === 0 && k !== "Set" && k !== "Map") return true;
    if (seen === undefined) seen = { a: new Map(), b: new Map(), depth: 0 };
    else {
      const at = seen.a.get(a);
      if (at !== undefined) return at === seen.b.get(b);
    }
    seen.depth++;
    seen.a.set(a, seen.depth);
    seen.b.set(b, seen.depth);
    let same = true;
    if (k === "Set") same = sets(a, b, strict, seen);
    else if (k === "Map") same = maps(a, b, strict, seen);
    for (let n = 0; same && n < keys.length; n++) same = equal(a[keys[n]], b[keys[n]], strict, seen);
    seen.a.delete(a);
    seen.b.delete(b);
    return same;
  };
  // sets compares each value that is not there itself with those that are left.
  const sets = (a, b, strict, seen) => {
    const left = new Set();
    for (const v of b) if (!a.has(v)) left.add(v);
    for (const v of a) {
      if (b.has(v)) continue;
      if (strict && !isObject(v)) return false;
      let found = false;
      for (const w of left) if (equal(v, w, strict, seen)) { left.delete(w); found = true; break; }
      if (!found) return false;
    }
    return left.size === 0;
  };
  const maps = (a, b, strict, seen) => {
    const left = new Map();
    for (const [key, v] of b) if (!a.has(key)) left.set(key, v);
    for (const [key, v] of a) {
      if (b.has(key)) {
        if (!equal(v, b.get(key), strict, seen)) return false;
        continue;
      }
      if (strict && !isObject(key)) return false;
      let found = false;
      for (const [other, w] of left) {
        if (equal(key, other, strict, seen) && equal(v, w, strict, seen)) { left.delete(other); found = true; break; }
      }
      if (!found) return false;
    }
    return left.size === 0;
  };
  return {
    isDeepEqual: (a, b) => equal(a, b, false), isDeepStrictEqual: function isDeepStrictEqual(a, b) { return equal(a, b, true); },
  };
})
