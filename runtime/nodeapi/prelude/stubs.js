// Modules of which there are only the names: their functions throw, and so do their classes.
(function (host, use) {
  const { notImplemented } = use("errors");
  const EventEmitter = use("events");
  const names = {
    "child_process": `ChildProcess exec execFile execFileSync execSync fork spawn spawnSync`,
    "cluster": `Worker setupPrimary setupMaster fork disconnect`,
    "dgram": `createSocket Socket`,
    "dns": `lookup lookupService Resolver getDefaultResultOrder setDefaultResultOrder setServers getServers resolve
      resolve4 resolve6 resolveAny resolveCaa resolveCname resolveMx resolveNaptr resolveNs resolvePtr
      resolveSoa resolveSrv resolveTxt reverse`,
    "dns/promises": `lookup lookupService Resolver getDefaultResultOrder setDefaultResultOrder setServers getServers resolve
      resolve4 resolve6 resolveAny resolveCaa resolveCname resolveMx resolveNaptr resolveNs resolvePtr
      resolveSoa resolveSrv resolveTxt reverse`,
    "domain": `Domain createDomain create`,
    "fs": `appendFile appendFileSync access accessSync chown chownSync chmod chmodSync close closeSync copyFile
      copyFileSync cp cpSync createReadStream createWriteStream exists existsSync fchown fchownSync fchmod
      fchmodSync fdatasync fdatasyncSync fstat fstatSync fsync fsyncSync ftruncate ftruncateSync futimes
      futimesSync lchown lchownSync link linkSync lstat lstatSync lutimes lutimesSync mkdir mkdirSync mkdtemp
      mkdtempSync open openSync openAsBlob readdir readdirSync read readSync readv readvSync readFile
      readFileSync readlink readlinkSync realpath realpathSync rename renameSync rm rmSync rmdir rmdirSync
      stat statfs statSync statfsSync symlink symlinkSync truncate truncateSync unwatchFile unlink unlinkSync
      utimes utimesSync watch watchFile writeFile writeFileSync write writeSync writev writevSync Dirent Stats
      ReadStream WriteStream FileReadStream FileWriteStream Dir opendir opendirSync`,
    "fs/promises": `access copyFile cp open opendir rename truncate rm rmdir mkdir readdir readlink symlink lstat stat
      statfs link unlink chmod lchmod lchown chown utimes lutimes realpath mkdtemp writeFile appendFile
      readFile watch`,
    "http": `Agent ClientRequest IncomingMessage OutgoingMessage Server ServerResponse createServer
      validateHeaderName validateHeaderValue get request setMaxIdleHTTPParsers`,
    "http2": `connect createServer createSecureServer getDefaultSettings getPackedSettings getUnpackedSettings
      performServerHandshake Http2ServerRequest Http2ServerResponse`,
    "https": `Agent Server createServer get request`,
    "inspector": `open close url waitForDebugger Session`,
    "net": `BlockList SocketAddress connect createConnection createServer isIP isIPv4 isIPv6 Server Socket Stream
      getDefaultAutoSelectFamily setDefaultAutoSelectFamily getDefaultAutoSelectFamilyAttemptTimeout
      setDefaultAutoSelectFamilyAttemptTimeout`,
    "readline": `Interface clearLine clearScreenDown createInterface cursorTo emitKeypressEvents moveCursor`,
    "readline/promises": `Interface Readline createInterface`,
    "repl": `start writer REPLServer Recoverable isValidSyntax`,
    "tls": `getCiphers convertALPNProtocols checkServerIdentity createSecureContext SecureContext TLSSocket Server
      createServer connect createSecurePair`,
    "trace_events": `createTracing getEnabledCategories`,
    "tty": `isatty ReadStream WriteStream`,
    "v8": `cachedDataVersionTag getHeapSnapshot getHeapStatistics getHeapSpaceStatistics getHeapCodeStatistics
      setFlagsFromString Serializer Deserializer DefaultSerializer DefaultDeserializer deserialize
      takeCoverage stopCoverage serialize writeHeapSnapshot queryObjects setHeapSnapshotNearHeapLimit
      GCProfiler`,
    "vm": `Script createContext createScript runInContext runInNewContext runInThisContext isContext
      compileFunction measureMemory`,
    "wasi": `WASI`,
    "worker_threads": `MessagePort MessageChannel markAsUntransferable moveMessagePortToContext receiveMessageOnPort
      postMessageToThread Worker BroadcastChannel setEnvironmentData getEnvironmentData`,
    "perf_hooks": `Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver
      PerformanceObserverEntryList PerformanceResourceTiming monitorEventLoopDelay createHistogram`,
  };
  // extras are what is more than a name.
  const extras = {
    "child_process": () => ({}),
    "cluster": () => ({ isMaster: true, isPrimary: true, isWorker: false, workers: {}, settings: {} }),
    "dns": () => ({ promises: make("dns/promises") }),
    "fs": () => ({ promises: make("fs/promises"), constants: { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 }, existsSync: () => false }),
    "fs/promises": () => ({ constants: { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 } }),
    "http": () => http(), "https": () => http(),
    "http2": () => ({ constants: {} }),
    "inspector": () => ({ url: () => undefined, console: globalThis.console }),
    "net": () => ({
      isIP: (text) => (v4(text) ? 4 : v6(text) ? 6 : 0), isIPv4: v4, isIPv6: v6,
      getDefaultAutoSelectFamily: () => true, setDefaultAutoSelectFamily() {},
    }),
    "perf_hooks": () => ({
      performance: globalThis.performance, constants: {},
      ...Object.fromEntries(
        names.perf_hooks.split(/\s+/).filter((name) => name in globalThis).map((name) => [name, globalThis[name]]),
      ),
    }),
    "readline": () => ({ promises: make("readline/promises") }),
    "tls": () => ({ DEFAULT_MIN_VERSION: "TLSv1.2", DEFAULT_MAX_VERSION: "TLSv1.3", getCiphers: () => [] }),
    "trace_events": () => ({ getEnabledCategories: () => undefined }),
    "tty": () => ({ isatty: () => false }),
    "vm": () => ({ constants: {}, isContext: () => false }),
    "worker_threads": () => ({
      isMainThread: true, parentPort: null, threadId: 0, workerData: null, resourceLimits: {}, SHARE_ENV: Symbol.for("nodejs.worker_threads.SHARE_ENV"),
      MessageChannel: globalThis.MessageChannel, MessagePort: globalThis.MessagePort, getEnvironmentData: () => undefined,
    }),
  };
  const octet = "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
  const pattern = new RegExp(`^${octet}(\\.${octet}){3}$`);
  const v4 = (text) => pattern.test(String(text));
  const v6 = (text) => {
    text = String(text).split("%")[0];
    try { return text.includes(":") && new URL(`http://[${text}]/`).hostname.length > 2; } catch { return false; }
  };
  const codes = {
    100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints", 200: "OK", 201: "Created", 202: "Accepted",
    203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content", 206: "Partial Content", 207: "Multi-Status",
    208: "Already Reported", 226: "IM Used", 300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other",
    304: "Not Modified", 305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request",
    401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
    411: "Length Required", 412: "Precondition Failed", 413: "Payload Too Large", 414: "URI Too Long",
    415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed", 418: "I'm a Teapot",
    421: "Misdirected Request", 422: "Unprocessable Entity", 423: "Locked", 424: "Failed Dependency", 425: "Too Early",
    426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
    451: "Unavailable For Legal Reasons", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
    503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported", 506: "Variant Also Negotiates",
    507: "Insufficient Storage", 508: "Loop Detected", 509: "Bandwidth Limit Exceeded", 510: "Not Extended",
    511: "Network Authentication Required",
  };
  const methods = "ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY " +
    "OPTIONS PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE";
  // http has what programs use of it beside connections. An agent can be made: that it does nothing is seen when it is used.
  const http = () => {
    class Agent extends EventEmitter {
      constructor(options) { super(); this.options = { ...options }; }
      destroy() {}
    }
    return { STATUS_CODES: codes, METHODS: methods.split(" "), maxHeaderSize: 16384, Agent, globalAgent: new Agent() };
  };
  const made = new Map();
  const make = (module) => {
    if (made.has(module)) return made.get(module);
    const out = {};
    for (const name of (names[module] ?? "").split(/\s+/)) {
      if (name !== "") out[name] = { [name]: function () { throw notImplemented(`${module}.${name}`); } }[name];
    }
    Object.assign(out, extras[module]?.());
    made.set(module, out);
    return out;
  };
  return { make };
})
