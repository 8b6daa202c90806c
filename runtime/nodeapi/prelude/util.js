// util.
(function (host, use) {
  const { coded, invalidArgType, invalidArgValue, outOfRange, check, AbortError } = use("errors");
  const { isDeepStrictEqual } = use("equal");
  const { kind } = host;
  const customInspect = Symbol.for("nodejs.util.inspect.custom");
  const customPromisify = Symbol.for("nodejs.util.promisify.custom");

  const inspect = function inspect(value, options) {
    if (arguments.length > 1 && (typeof options !== "object" || options === null)) {
      const [, showHidden, depth, colors] = arguments;
      options = { showHidden: showHidden === true };
      if (depth !== undefined) options.depth = depth;
      if (colors !== undefined) options.colors = colors;
    }
    return host.inspect(value, { ...inspect.defaultOptions, ...options });
  };
  inspect.custom = customInspect;
  inspect.defaultOptions = {
    showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100,
    maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false,
  };
  inspect.colors = {
    __proto__: null, reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], blink: [5, 25],
    inverse: [7, 27], hidden: [8, 28], strikethrough: [9, 29], doubleunderline: [21, 24], black: [30, 39], red: [31, 39],
    green: [32, 39], yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39],
    bgBlack: [40, 49], bgRed: [41, 49], bgGreen: [42, 49], bgYellow: [43, 49], bgBlue: [44, 49], bgMagenta: [45, 49],
    bgCyan: [46, 49], bgWhite: [47, 49], framed: [51, 54], overlined: [53, 55], gray: [90, 39], redBright: [91, 39],
    greenBright: [92, 39], yellowBright: [93, 39], blueBright: [94, 39], magentaBright: [95, 39], cyanBright: [96, 39],
    whiteBright: [97, 39], bgGray: [100, 49], bgRedBright: [101, 49], bgGreenBright: [102, 49], bgYellowBright: [103, 49],
    bgBlueBright: [104, 49], bgMagentaBright: [105, 49], bgCyanBright: [106, 49], bgWhiteBright: [107, 49],
  };
  inspect.colors.grey = inspect.colors.gray;
  inspect.colors.blackBright = inspect.colors.gray;
  inspect.styles = {
    __proto__: null, special: "cyan", number: "yellow", bigint: "yellow", boolean: "yellow", undefined: "grey",
    null: "bold", string: "green", symbol: "green", date: "magenta", regexp: "red", module: "underline",
  };
  const format = function format(...args) { return host.format(...args); };
  const formatWithOptions = function formatWithOptions(options, ...args) {
    check.object(options, "inspectOptions");
    return host.format(...args);
  };

  const promisify = function promisify(original) {
    check.function(original, "original");
    if (original[customPromisify]) {
      const f = original[customPromisify];
      check.function(f, "util.promisify.custom");
      return Object.defineProperty(f, customPromisify, { value: f, enumerable: false, writable: false, configurable: true });
    }
    const names = original[promisifyArgs];
    function f(...args) {
      return new Promise((resolve, reject) => {
        Reflect.apply(original, this, [...args, (error, ...values) => {
          if (error) return reject(error);
          if (names !== undefined && values.length > 1) {
            return resolve(Object.fromEntries(names.map((name, n) => [name, values[n]])));
          }
          return resolve(values[0]);
        }]);
      });
    }
    Object.setPrototypeOf(f, Object.getPrototypeOf(original));
    Object.defineProperty(f, customPromisify, { value: f, enumerable: false, writable: false, configurable: true });
    return Object.defineProperties(f, Object.getOwnPropertyDescriptors(original));
  };
  const promisifyArgs = Symbol.for("tandem.promisify.args");
  promisify.custom = customPromisify;
  const callbackify = function callbackify(original) {
    check.function(original, "original");
    function f(...args) {
      const callback = args.pop();
      check.function(callback, "last argument");
      const done = callback.bind(this);
      const { nextTick } = use("process");
      Reflect.apply(original, this, args).then((value) => nextTick(done, null, value), (reason) => {
        if (!reason) {
          const e = coded(Error, "ERR_FALSY_VALUE_REJECTION", "Promise was rejected with falsy value");
          e.reason = reason;
          reason = e;
        }
        nextTick(done, reason);
      });
    }
    const d = Object.getOwnPropertyDescriptors(original);
    if (typeof d.length.value === "number") d.length.value++;
    if (typeof d.name.value === "string") d.name.value += "Callbackified";
    return Object.defineProperties(f, d);
  };
  const inherits = function inherits(ctor, superCtor) {
    if (ctor === undefined || ctor === null) invalidArgType("ctor", "Function", ctor);
    if (superCtor === undefined || superCtor === null) invalidArgType("superCtor", "Function", superCtor);
    if (superCtor.prototype === undefined) invalidArgType("superCtor.prototype", "Object", superCtor.prototype);
    Object.defineProperty(ctor, "super_", { value: superCtor, writable: true, configurable: true });
    Object.setPrototypeOf(ctor.prototype, superCtor.prototype);
  };
  const warned = new Set();
  const deprecate = function deprecate(f, message, code) {
    if (code !== undefined) check.string(code, "code");
    let done = false;
    function deprecated(...args) {
      if (!done) {
        done = true;
        if (code === undefined || !warned.has(code)) {
          if (code !== undefined) warned.add(code);
          use("process").emitWarning(message, "DeprecationWarning", code);
        }
      }
      return new.target ? Reflect.construct(f, args, new.target) : Reflect.apply(f, this, args);
    }
    Object.setPrototypeOf(deprecated, f);
    if (f.prototype) deprecated.prototype = f.prototype;
    return deprecated;
  };
  const debuglog = function debuglog() {
    const log = () => {};
    log.enabled = false;
    return log;
  };
  const styleText = function styleText(style, text) {
    check.string(text, "text");
    let open = "", close = "";
    for (const name of [style].flat()) {
      const pair = inspect.colors[name];
      if (!pair) {
        throw coded(TypeError, "ERR_INVALID_ARG_VALUE", "The argument 'format' must be one of: " +
          `${Object.keys(inspect.colors).map((k) => `'${k}'`).join(", ")}. Received ${host.inspect(name)}`);
      }
      open += `\x1b[${pair[0]}m`;
      close = `\x1b[${pair[1]}m` + close;
    }
    return open + text + close;
  };
  const escapes = /[\u001B\u009B][[\]()#;?]*(?:(?:(?:(?:;[-a-zA-Z\d\/#&.:=?%@~_]+)*|[a-zA-Z\d]+(?:;[-a-zA-Z\d\/#&.:=?%@~_]*)*)?(?:\u0007|\u001B\u005C|\u009C))|(?:(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]))/g;
  const stripVTControlCharacters = function (text) {
    check.string(text, "str");
    return text.replace(escapes, "");
  };

  // Kinds of objects.
  const isA = (name) => (v) => typeof v === "object" && v !== null && kind(v) === name;
  const tag = (v) => Object.prototype.toString.call(v).slice(8, -1);
  const tagged = (name) => (v) => typeof v === "object" && v !== null && tag(v) === name;
  const typed = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
  const typedName = (v) => (ArrayBuffer.isView(v) ? typed.call(v) : undefined);
  const boxed = (name) => (v) => typeof v === "object" && v !== null && kind(v) === "Boxed" && host.boxedClass(v) === name;
  const isSymbolObject = (v) => {
    if (typeof v !== "object" || v === null) return false;
    try { Symbol.prototype.valueOf.call(v); return true; } catch { return false; }
  };
  const types = {
    isExternal: () => false,
    isDate: isA("Date"),
    isArgumentsObject: (v) => typeof v === "object" && v !== null && !(Symbol.toStringTag in v) && tag(v) === "Arguments",
    isBigIntObject: boxed("BigInt"), isBooleanObject: boxed("Boolean"), isNumberObject: boxed("Number"),
    isStringObject: boxed("String"), isSymbolObject,
    isBoxedPrimitive: (v) => (typeof v === "object" && v !== null && kind(v) === "Boxed") || isSymbolObject(v),
    isNativeError: isA("Error"), isRegExp: isA("RegExp"),
    isAsyncFunction: (v) => typeof v === "function" && /^Async/.test(tag(v)),
    isGeneratorFunction: (v) => typeof v === "function" && /GeneratorFunction$/.test(tag(v)),
    isGeneratorObject: tagged("Generator"),
    isPromise: isA("Promise"), isMap: isA("Map"), isSet: isA("Set"),
    isMapIterator: tagged("Map Iterator"), isSetIterator: tagged("Set Iterator"),
    isWeakMap: (v) => v instanceof WeakMap, isWeakSet: (v) => v instanceof WeakSet,
    isArrayBuffer: isA("ArrayBuffer"), isDataView: (v) => ArrayBuffer.isView(v) && typed.call(v) === undefined,
    isSharedArrayBuffer: () => false, isAnyArrayBuffer: isA("ArrayBuffer"),
    isProxy: (v) => (typeof v === "object" || typeof v === "function") && v !== null && kind(v) === "Proxy",
    isModuleNamespaceObject: () => false,
    isArrayBufferView: (v) => ArrayBuffer.isView(v), isTypedArray: (v) => typedName(v) !== undefined,
    isCryptoKey: (v) => typeof CryptoKey === "function" && v instanceof CryptoKey,
    isKeyObject: (v) => v instanceof use("crypto").KeyObject,
    isEventTarget: (v) => v instanceof EventTarget,
  };
  for (const name of ["Uint8Array", "Uint8ClampedArray", "Uint16Array", "Uint32Array", "Int8Array", "Int16Array", "Int32Array",
    "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array"]) {
    types["is" + name] = (v) => typedName(v) === name;
  }
  const primitive = (v) => v === null || (typeof v !== "object" && typeof v !== "function");
  const aborted = function aborted(signal, resource) {
    if (signal === undefined) invalidArgType("signal", "AbortSignal", signal);
    check.signal(signal, "signal");
    check.object(resource, "resource");
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  };
  // The most common of the system's errors.
  const systemErrors = new Map([
    [-1, ["EPERM", "operation not permitted"]], [-2, ["ENOENT", "no such file or directory"]],
    [-13, ["EACCES", "permission denied"]], [-17, ["EEXIST", "file already exists"]],
    [-22, ["EINVAL", "invalid argument"]], [-32, ["EPIPE", "broken pipe"]],
    [-98, ["EADDRINUSE", "address already in use"]], [-104, ["ECONNRESET", "connection reset by peer"]],
    [-110, ["ETIMEDOUT", "connection timed out"]], [-111, ["ECONNREFUSED", "connection refused"]],
  ]);
  const api = {
    inspect, format, formatWithOptions, promisify, callbackify, inherits, deprecate, debuglog, debug: debuglog, styleText,
    stripVTControlCharacters, types, isDeepStrictEqual, aborted,
    TextEncoder: globalThis.TextEncoder, TextDecoder: globalThis.TextDecoder,
    get MIMEType() { return use("mime").MIMEType; }, get MIMEParams() { return use("mime").MIMEParams; },
    get parseArgs() { return use("parseargs").parseArgs; },
    toUSVString: (text) => `${text}`.toWellFormed(),
    getSystemErrorName: (n) => systemErrors.get(n)?.[0], getSystemErrorMap: () => new Map(systemErrors),
    getSystemErrorMessage: (n) => systemErrors.get(n)?.[1],
    log: (...args) => console.log("%s - %s", new Date().toISOString(), format(...args)),
    isArray: Array.isArray, isBoolean: (v) => typeof v === "boolean", isNull: (v) => v === null,
    isNullOrUndefined: (v) => v === null || v === undefined, isNumber: (v) => typeof v === "number",
    isString: (v) => typeof v === "string", isSymbol: (v) => typeof v === "symbol", isUndefined: (v) => v === undefined,
    isRegExp: types.isRegExp, isObject: (v) => v !== null && typeof v === "object", isDate: types.isDate,
    isError: (v) => types.isNativeError(v) || v instanceof Error, isFunction: (v) => typeof v === "function",
    isPrimitive: primitive, isBuffer: (v) => use("buffer").Buffer.isBuffer(v),
    transferableAbortController: () => new AbortController(), transferableAbortSignal: (signal) => signal,
    _extend(target, source) {
      if (source !== null && typeof source === "object") for (const key of Object.keys(source)) target[key] = source[key];
      return target;
    },
    _errnoException(n, call) { const e = new Error(`${call} ${systemErrors.get(n)?.[0]}`); e.errno = n; e.syscall = call; return e; },
  };
  return api;
})
