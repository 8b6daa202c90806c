// process.
(function (host, use) {
  const { invalidArgType, check, notImplemented } = use("errors");
  const EventEmitter = use("events");
  const values = { __proto__: null };
  for (const [name, value] of host.environment()) values[name] = value;
  Object.setPrototypeOf(values, Object.prototype);
  // Like those of Node.js, values are text.
  const env = new Proxy(values, {
    set(target, key, value) {
      if (typeof key === "symbol" || typeof value === "symbol") throw new TypeError("Cannot convert a Symbol value to a string");
      target[key] = String(value);
      return true;
    },
    defineProperty(target, key, d) {
      return Reflect.defineProperty(target, key, "value" in d ? { ...d, value: String(d.value) } : d);
    },
  });
  const now = () => performance.now();
  const hrtime = function hrtime(before) {
    const ms = now();
    let seconds = Math.trunc(ms / 1000), nanos = Math.trunc((ms % 1000) * 1e6);
    if (before !== undefined) {
      if (!Array.isArray(before)) invalidArgType("time", "Array", before);
      seconds -= before[0];
      nanos -= before[1];
      if (nanos < 0) { seconds--; nanos += 1e9; }
    }
    return [seconds, nanos];
  };
  hrtime.bigint = () => BigInt(Math.trunc(now() * 1000)) * 1000n;
  const emitWarning = function emitWarning(warning, type, code, ctor) {
    let detail;
    if (type !== null && typeof type === "object" && !Array.isArray(type)) {
      ({ type, code, detail } = type);
    } else if (typeof type === "function") type = undefined;
    if (type !== undefined) check.string(type, "type");
    if (typeof code === "function") code = undefined;
    else if (code !== undefined) check.string(code, "code");
    if (typeof warning === "string") {
      warning = new Error(warning);
      warning.name = String(type || "Warning");
      if (code !== undefined) warning.code = code;
      if (detail !== undefined) warning.detail = detail;
    } else if (!(warning instanceof Error)) invalidArgType("warning", ["Error", "string"], warning);
    nextTick(() => {
      if (!process.emit("warning", warning)) {
        console.warn(`(node:1) ${warning.code ? `[${warning.code}] ` : ""}${warning.name}: ${warning.message}`);
      }
    });
  };
  const nextTick = function nextTick(f, ...args) {
    check.function(f, "callback");
    queueMicrotask(args.length === 0 ? () => f() : () => f(...args));
  };
  const version = "v22.19.0";
  const memory = () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 });
  memory.rss = () => 0;
  const exit = (code) => host.exit(String(code ?? process.exitCode ?? 0));
  const stream = (name) => {
    let s;
    return { enumerable: true, configurable: true, get() {
      if (s) return s;
      const { Writable } = use("stream");
      let line = "";
      s = new Writable({ decodeStrings: false, write(chunk, _, done) {
        line += chunk;
        const at = line.lastIndexOf("\n");
        if (at >= 0) { console[name](line.slice(0, at)); line = line.slice(at + 1); }
        done();
      } });
      s.fd = name === "log" ? 1 : 2;
      s.isTTY = false;
      return s;
    } };
  };
  const proto = Object.create(EventEmitter.prototype, {
    constructor: { value: function process() {}, writable: true, configurable: true },
    [Symbol.toStringTag]: { value: "process", configurable: true },
  });
  const process = Object.create(proto);
  EventEmitter.call(process);
  Object.assign(process, {
    env, nextTick, hrtime, emitWarning, version, versions: { node: version.slice(1), v8: "14.2.231.9", modules: "127" },
    platform: "linux", arch: "x64", title: "workerd", argv: ["workerd"], argv0: "workerd", execArgv: [], execPath: "",
    pid: 1, ppid: 0, exitCode: undefined, config: { target_defaults: {}, variables: {} },
    release: { name: "node", lts: true }, features: {
      inspector: false, debug: false, uv: false, ipv6: true, tls_alpn: true, tls_sni: true, tls_ocsp: true, tls: true,
      cached_builtins: true, typescript: false, require_module: false,
    },
    allowedNodeEnvironmentFlags: new Set(), debugPort: 0, noDeprecation: false, traceDeprecation: false,
    cwd: () => cwd, chdir(path) { check.string(path, "directory"); cwd = use("path").resolve(path); },
    exit, reallyExit: exit, abort: () => exit(134), uptime: () => now() / 1000, memoryUsage: memory,
    cpuUsage: () => ({ user: 0, system: 0 }), resourceUsage: () => ({}), availableMemory: () => 0, constrainedMemory: () => 0,
    umask: () => 18, getuid: () => 0, geteuid: () => 0, getgid: () => 0, getegid: () => 0, getgroups: () => [],
    getBuiltinModule: (name) => host.builtin(String(name)),
    hasUncaughtExceptionCaptureCallback: () => false, setUncaughtExceptionCaptureCallback() {}, setSourceMapsEnabled() {},
    ref() {}, unref() {}, report: {}, permission: { has: () => true }, finalization: { register() {}, unregister() {} },
    assert: (v, text) => use("assert")(v, text), stdin: undefined,
  });
  let cwd = "/bundle";
  Object.defineProperty(process, "stdout", stream("log"));
  Object.defineProperty(process, "stderr", stream("error"));
  for (const name of ["binding", "dlopen", "kill", "loadEnvFile", "setuid", "setgid", "seteuid", "setegid", "setgroups",
    "initgroups"]) {
    process[name] = () => { throw notImplemented("process." + name); };
  }
  return process;
})
