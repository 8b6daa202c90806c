// assert.
(function (host, use) {
  const { coded, withCode, invalidArgType, invalidArgValue, check } = use("errors");
  const { isDeepEqual, isDeepStrictEqual } = use("equal");
  const show = (v) => host.inspect(v, {
    compact: false, customInspect: false, depth: 1000, maxArrayLength: Infinity, showHidden: false, breakLength: Infinity,
    sorted: true, getters: true,
  });
  const titles = {
    deepStrictEqual: "Expected values to be strictly deep-equal:", strictEqual: "Expected values to be strictly equal:",
    strictEqualObject: 'Expected "actual" to be reference-equal to "expected":',
    deepEqual: "Expected values to be loosely deep-equal:",
    notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
    notStrictEqual: 'Expected "actual" to be strictly unequal to:',
    notStrictEqualObject: 'Expected "actual" not to be reference-equal to "expected":',
    notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
    notIdentical: "Values identical but not reference-equal:",
    notDeepEqualUnequal: "Expected values not to be loosely deep-equal:",
  };
  const composite = (v) => (typeof v === "object" && v !== null) || typeof v === "function";
  // difference lists the lines that differ, and two around them.
  const difference = (actual, expected, operator) => {
    let a = show(actual).split("\n"), b = show(expected).split("\n");
    if (operator === "strictEqual" && ((composite(actual) && composite(expected)))) operator = "strictEqualObject";
    if (a.length === 1 && b.length === 1 && a[0] !== b[0]) {
      const short = a[0].length + b[0].length <= 12;
      const zero = actual !== 0 || expected !== 0;
      if (!composite(actual) && !composite(expected) && short && zero) {
        return `${titles[operator]}\n\n${a[0]} !== ${b[0]}\n`;
      }
    }
    if (a.join("\n") === b.join("\n")) {
      return `${titles.notIdentical}\n\n${a.join("\n")}\n`;
    }
    let start = 0, end = 0;
    while (start < a.length && start < b.length && a[start] === b[start]) start++;
    while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
    const out = [];
    const from = start > 3 ? start - 2 : 0, to = Math.min(end, 2);
    if (from > 0) out.push("...");
    for (const line of a.slice(from, start)) out.push("  " + line);
    for (const line of a.slice(start, a.length - end)) out.push("+ " + line);
    for (const line of b.slice(start, b.length - end)) out.push("- " + line);
    for (const line of a.slice(a.length - end, a.length - end + to)) out.push("  " + line);
    if (end > to) out.push("...");
    return `${titles[operator]}\n+ actual - expected\n\n${out.join("\n")}`;
  };
  const message = (actual, expected, operator) => {
    if (operator === "deepStrictEqual" || operator === "strictEqual") return difference(actual, expected, operator);
    if (operator === "notDeepStrictEqual" || operator === "notStrictEqual") {
      let base = titles[operator];
      const lines = show(actual).split("\n");
      if (operator === "notStrictEqual" && composite(actual)) base = titles.notStrictEqualObject;
      if (lines.length === 1) return `${base}${lines[0].length > 5 ? "\n\n" : " "}${lines[0]}`;
      return `${base}\n\n${lines.join("\n")}\n`;
    }
    let a = host.inspect(actual), b = host.inspect(expected);
    if (operator === "notDeepEqual" || operator === "deepEqual") {
      a = show(actual); b = show(expected);
      if (operator === "notDeepEqual") {
        const same = a === b;
        if (same) return `${titles.notDeepEqual}\n\n${a.length > 1024 ? a.slice(0, 1021) + "..." : a}`;
      } else {
        return `${titles.deepEqual}\n\n${a}\n\nshould loosely deep-equal\n\n${b}`;
      }
      return `${titles.notDeepEqualUnequal}\n\n${a}\n\nshould not loosely deep-equal\n\n${b}`;
    }
    return `${a} ${operator} ${b}`;
  };
  class AssertionError extends Error {
    constructor(options) {
      check.object(options, "options");
      const { message: text, operator, actual, expected } = options;
      super(text !== undefined && text !== null ? String(text) : message(actual, expected, operator));
      this.generatedMessage = !text;
      Object.defineProperty(this, "name", {
        value: "AssertionError", enumerable: false, writable: true, configurable: true,
      });
      withCode(this, "ERR_ASSERTION");
      this.actual = actual;
      this.expected = expected;
      this.operator = operator;
    }
  }
  const fail = (o) => {
    if (o.message instanceof Error) throw o.message;
    throw new AssertionError(o);
  };
  const missing = (args) => {
    if (args.length < 2) throw coded(TypeError, "ERR_MISSING_ARGS", 'The "actual" and "expected" arguments must be specified');
  };
  const truth = (args, name) => {
    if (args[0]) return;
    let text = args[1], generated = false;
    if (args.length === 0) { generated = true; text = "No value argument passed to `assert.ok()`"; }
    else if (text === undefined || text === null) { generated = true; text = "The expression evaluated to a falsy value"; }
    else if (text instanceof Error) throw text;
    const e = new AssertionError({ actual: args[0], expected: true, message: text, operator: "==" });
    e.generatedMessage = generated;
    throw e;
  };
  const assert = function ok(...args) { truth(args); };
  assert.ok = assert;
  assert.fail = function (actual, expected, text, operator) {
    if (arguments.length <= 1) {
      if (actual instanceof Error) throw actual;
      const e = new AssertionError({ message: actual === undefined ? "Failed" : actual, operator: "fail" });
      e.generatedMessage = actual === undefined;
      throw e;
    }
    if (text instanceof Error) throw text;
    fail({ actual, expected, message: text, operator: operator ?? (arguments.length === 2 ? "!=" : "fail") });
  };
  const comparison = (name, operator, same, negative) => {
    assert[name] = { [name](actual, expected, text) {
      missing(arguments);
      if (same(actual, expected) === negative) fail({ actual, expected, message: text, operator });
    } }[name];
  };
  // eslint-disable-next-line eqeqeq
  const loose = (a, b) => a == b || (a !== a && b !== b);
  comparison("equal", "==", loose, false);
  comparison("notEqual", "!=", loose, true);
  comparison("strictEqual", "strictEqual", Object.is, false);
  comparison("notStrictEqual", "notStrictEqual", Object.is, true);
  comparison("deepEqual", "deepEqual", isDeepEqual, false);
  comparison("notDeepEqual", "notDeepEqual", isDeepEqual, true);
  comparison("deepStrictEqual", "deepStrictEqual", isDeepStrictEqual, false);
  comparison("notDeepStrictEqual", "notDeepStrictEqual", isDeepStrictEqual, true);

  // expectedError throws unless an error is as a caller of throws and rejects says.
  const expectedError = (actual, expected, text, f) => {
    const name = f.name;
    let generated = false;
    if (typeof expected !== "function") {
      if (expected instanceof RegExp) {
        const line = String(actual);
        if (expected.test(line)) return;
        if (!text) {
          generated = true;
          text = `The input did not match the regular expression ${host.inspect(expected)}. Input:\n\n${host.inspect(line)}\n`;
        }
        throwMismatch(actual, expected, text, name, generated);
      }
      if (typeof actual !== "object" || actual === null) {
        const e = new AssertionError({ actual, expected, message: text, operator: "deepStrictEqual" });
        e.operator = name;
        throw e;
      }
      const keys = Object.keys(expected);
      if (expected instanceof Error) keys.push("name", "message");
      else if (keys.length === 0) throw invalidArgValue("error", expected, "may not be an empty object");
      for (const key of keys) {
        if (typeof actual[key] === "string" && expected[key] instanceof RegExp && expected[key].test(actual[key])) continue;
        if (key in actual && isDeepStrictEqual(actual[key], expected[key])) continue;
        if (text instanceof Error) throw text;
        const pick = (o) => Object.fromEntries(keys.filter((k) => k in o).map((k) => [k, o[k]]));
        const e = new AssertionError({ actual: pick(actual), expected: pick(expected), message: text, operator: "deepStrictEqual" });
        e.actual = actual; e.expected = expected; e.operator = name;
        throw e;
      }
      return;
    }
    if (expected.prototype !== undefined && actual instanceof expected) return;
    if (Error.isPrototypeOf(expected) || expected === Error) {
      if (!text) {
        generated = true;
        text = `The error is expected to be an instance of "${expected.name}". Received `;
        text += actual instanceof Error ? `"${actual.constructor?.name ?? actual.name}"` : `"${host.inspect(actual, { depth: -1 })}"`;
        if (actual instanceof Error) text += `\n\nError message:\n\n${actual.message}`;
      }
      throwMismatch(actual, expected, text, name, generated);
    }
    const result = Reflect.apply(expected, {}, [actual]);
    if (result === true) return;
    if (!text) {
      generated = true;
      text = `The ${expected.name ? `"${expected.name}" ` : ""}validation function is expected to return "true". ` +
        `Received ${host.inspect(result)}`;
      if (actual instanceof Error) text += `\n\nCaught error:\n\n${actual}`;
    }
    throwMismatch(actual, expected, text, name, generated);
  };
  const throwMismatch = (actual, expected, text, operator, generated) => {
    if (text instanceof Error) throw text;
    const e = new AssertionError({ actual, expected, message: text, operator });
    e.generatedMessage = generated;
    throw e;
  };
  const none = Symbol("none");
  const checkExpected = (expected, text, actual) => {
    if (typeof expected === "string") {
      if (text !== undefined) invalidArgType("error", ["Object", "Error", "Function", "RegExp"], expected);
      if (typeof actual === "object" && actual !== null ? actual.message === expected : actual === expected) {
        throw coded(TypeError, "ERR_AMBIGUOUS_ARGUMENT", `The "error/message" argument is ambiguous. The error ` +
          `${typeof actual === "object" ? `message "${actual.message}"` : `"${actual}"`} is identical to the message.`);
      }
      return [undefined, expected];
    }
    if (expected !== undefined && expected !== null && typeof expected !== "object" && typeof expected !== "function") {
      invalidArgType("error", ["Object", "Error", "Function", "RegExp"], expected);
    }
    return [expected, text];
  };
  const expects = (f, actual, expected, text) => {
    [expected, text] = checkExpected(expected, text, actual);
    if (actual === none) {
      let details = expected?.name ? ` (${expected.name})` : "";
      details += text ? `: ${text}` : ".";
      if (text instanceof Error) throw text;
      fail({ actual: undefined, expected, operator: f.name,
        message: `Missing expected ${f === assert.rejects ? "rejection" : "exception"}${details}` });
    }
    if (expected) expectedError(actual, expected, text, f);
  };
  const expectsNone = (f, actual, expected, text) => {
    if (actual === none) return;
    if (typeof expected === "string") { text = expected; expected = undefined; }
    const matches = !expected || (typeof expected === "function" ? actual instanceof expected : expected.test?.(String(actual)));
    if (!matches) throw actual;
    const details = text ? `: ${text}` : ".";
    fail({ actual, expected, operator: f.name, message: `Got unwanted ${f === assert.doesNotReject ? "rejection" : "exception"}` +
      `${details}\nActual message: "${actual?.message}"` });
  };
  const caught = (f) => {
    check.function(f, "fn");
    try { f(); } catch (e) { return e; }
    return none;
  };
  const settled = async (p) => {
    let result = p;
    if (typeof p === "function") {
      result = p();
      if (typeof result?.then !== "function") {
        throw coded(TypeError, "ERR_INVALID_RETURN_VALUE", 'Expected instance of Promise to be returned from the "promiseFn" ' +
          `function but got ${result === null || result === undefined ? result : typeof result === "object" ?
            `an instance of ${result.constructor?.name}` : `type ${typeof result} (${host.inspect(result)})`}.`);
      }
    } else if (typeof p?.then !== "function") invalidArgType("promiseFn", ["Function", "Promise"], p);
    try { await result; } catch (e) { return e; }
    return none;
  };
  Object.assign(assert, {
    throws: function throws(f, ...args) { expects(throws, caught(f), ...args); },
    rejects: async function rejects(p, ...args) { expects(rejects, await settled(p), ...args); },
    doesNotThrow: function doesNotThrow(f, ...args) { expectsNone(doesNotThrow, caught(f), ...args); },
    doesNotReject: async function doesNotReject(p, ...args) { expectsNone(doesNotReject, await settled(p), ...args); },
    ifError: function ifError(e) {
      if (e === null || e === undefined) return;
      let text = "ifError got unwanted exception: ";
      if (typeof e === "object" && typeof e.message === "string") {
        text += e.message.length === 0 && e.constructor ? e.constructor.name : e.message;
      } else text += host.inspect(e);
      const x = new AssertionError({ actual: e, expected: null, operator: "ifError", message: text });
      x.generatedMessage = true;
      throw x;
    },
    match: function match(text, pattern, m) { matches(text, pattern, m, "match"); },
    doesNotMatch: function doesNotMatch(text, pattern, m) { matches(text, pattern, m, "doesNotMatch"); },
    AssertionError,
  });
  const matches = (text, pattern, m, name) => {
    if (!(pattern instanceof RegExp)) invalidArgType("regexp", "RegExp", pattern);
    const wanted = name === "match";
    if (typeof text === "string" && (pattern.exec(text) !== null) === wanted) return;
    if (m instanceof Error) throw m;
    const generated = !m;
    m ||= typeof text !== "string" ? 'The "string" argument must be of type string. Received type ' +
      `${typeof text} (${host.inspect(text)})` :
      (wanted ? "The input did not match the regular expression " : "The input was expected to not match the regular expression ") +
      `${host.inspect(pattern)}. Input:\n\n${host.inspect(text)}\n`;
    const e = new AssertionError({ actual: text, expected: pattern, message: m, operator: name });
    e.generatedMessage = generated;
    throw e;
  };
  const strict = function strict(...args) { truth(args); };
  Object.assign(strict, assert, {
    equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual,
    notDeepEqual: assert.notDeepStrictEqual,
  });
  strict.strict = strict;
  assert.strict = strict;
  return assert;
})
