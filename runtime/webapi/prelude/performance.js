// Marks and measures, which a script takes and reads by itself: nobody observes them. Like workerd: observers are there and
// are told of nothing, and nothing is measured of requests.
(function (host, use) {
  const { now, illegalInvocation } = host;
  const { EventTarget, last, needArguments } = use("events");
  const { defineProperty } = Object;
  // most is how many entries are kept; the oldest go first.
  const most = 10000;
  const secret = {};
  const illegal = () => new TypeError("Illegal constructor");
  const finish = (C) => {
    for (const name of Object.getOwnPropertyNames(C.prototype)) {
      if (name !== "constructor") defineProperty(C.prototype, name, { enumerable: true });
    }
    defineProperty(C.prototype, Symbol.toStringTag, { value: C.name, configurable: true });
    last(C);
  };
  const need = (given, what, type = "string") => needArguments(given, 1, what, type);
  const isObject = (v) => (typeof v === "object" && v !== null) || typeof v === "function";
  const named = (v) => {
    if (typeof v === "symbol") throw new TypeError("Cannot convert a Symbol value to a string");
    return String(v);
  };
  // options checks the second argument of mark.
  const options = (v, what) => {
    if (v === undefined || v === null) return {};
    if (!isObject(v)) throw new TypeError(`Failed to ${what}: parameter 2 is not of type 'Options'.`);
    return v;
  };
  const detailOf = ({ detail }) => {
    if (detail === undefined) return null;
    if (!isObject(detail)) throw new TypeError("Incorrect type for the 'detail' field on 'Options': the provided value is not of type 'Object'.");
    return detail;
  };

  class PerformanceEntry {
    #name;
    #type;
    #start;
    #duration;
    constructor(key, name, type, start, duration) {
      if (key !== secret) throw illegal();
      this.#name = name;
      this.#type = type;
      this.#start = start;
      this.#duration = duration;
    }
    get name() {
      return this.#name;
    }
    get entryType() {
      return this.#type;
    }
    get startTime() {
      return this.#start;
    }
    get duration() {
      return this.#duration;
    }
    toJSON() {
      return { name: this.#name, entryType: this.#type, startTime: this.#start, duration: this.#duration };
    }
  }
  const withDetail = (entry, detail) => {
    const out = PerformanceEntry.prototype.toJSON.call(entry);
    if (detail !== null) out.detail = detail;
    return out;
  };
  class PerformanceMark extends PerformanceEntry {
    #detail;
    constructor(name, init) {
      need(arguments.length, "construct 'PerformanceMark'");
      init = options(init, "construct 'PerformanceMark'");
      const detail = detailOf(init);
      super(secret, named(name), "mark", init.startTime === undefined ? now() : Number(init.startTime), 0);
      this.#detail = detail;
    }
    get detail() {
      return this.#detail;
    }
    toJSON() {
      return withDetail(this, this.#detail);
    }
  }
  class PerformanceMeasure extends PerformanceEntry {
    #detail;
    constructor(key, name, start, end, detail) {
      if (key !== secret) throw illegal();
      super(secret, name, "measure", start, end > start ? end - start : 0);
      this.#detail = detail;
    }
    get detail() {
      return this.#detail;
    }
    toJSON() {
      return withDetail(this, this.#detail);
    }
  }
  class PerformanceResourceTiming extends PerformanceEntry {
    constructor() {
      throw illegal();
    }
  }
  for (const name of [
    "connectEnd", "connectStart", "decodedBodySize", "domainLookupEnd", "domainLookupStart", "encodedBodySize", "fetchStart",
    "initiatorType", "nextHopProtocol", "redirectEnd", "redirectStart", "requestStart", "responseEnd", "responseStart",
    "responseStatus", "secureConnectionStart", "transferSize", "workerStart",
  ]) {
    defineProperty(PerformanceResourceTiming.prototype, name, { get: { [name]() {} }[name], configurable: true });
  }
  class PerformanceObserverEntryList {
    constructor() {
      throw illegal();
    }
    getEntries() {
      return [];
    }
    getEntriesByType() {
      return [];
    }
    getEntriesByName() {
      return [];
    }
  }
  class PerformanceObserver {
    constructor() {
      need(arguments.length, "construct 'PerformanceObserver'", "Value");
    }
    disconnect() {}
    observe() {}
    takeRecords() {
      return [];
    }
  }
  defineProperty(PerformanceObserver, "supportedEntryTypes", { value: ["measure", "mark"], writable: true, enumerable: true, configurable: true });
  class EventCounts extends Map {}
  class PerformanceNodeTiming extends PerformanceEntry {}
  for (const name of ["nodeStart", "v8Start", "bootstrapComplete", "environment", "loopStart", "loopExit", "idleTime"]) {
    defineProperty(PerformanceNodeTiming.prototype, name, { value: 0, enumerable: true });
  }

  let entries = [];
  const keep = (entry) => {
    if (entries.push(entry) > most) entries = entries.slice(most / 10);
    return entry;
  };
  const drop = (type, given, name) => {
    entries = entries.filter((e) => e.entryType !== type || (given !== undefined && e.name !== name));
  };
  // at is when the first mark of a name was set.
  const at = (name, otherwise) => entries.find((e) => e.entryType === "mark" && e.name === name)?.startTime ?? otherwise;
  let performance;
  const self = (o) => {
    if (o !== performance) throw new TypeError(illegalInvocation);
  };
  class Performance extends EventTarget {
    constructor(key) {
      if (key !== secret) throw illegal();
      super();
    }
    get timeOrigin() {
      return 0;
    }
    get eventCounts() {
      return new EventCounts();
    }
    clearMarks(name) {
      self(this);
      drop("mark", name, String(name));
    }
    clearMeasures(name) {
      self(this);
      drop("measure", name, String(name));
    }
    clearResourceTimings() {}
    getEntries() {
      self(this);
      return entries.slice();
    }
    getEntriesByName(name, type) {
      self(this);
      need(arguments.length, "execute 'getEntriesByName' on 'Performance'");
      name = named(name);
      return entries.filter((e) => e.name === name && (type === undefined || e.entryType === String(type)));
    }
    getEntriesByType(type) {
      self(this);
      need(arguments.length, "execute 'getEntriesByType' on 'Performance'");
      type = named(type);
      return entries.filter((e) => e.entryType === type);
    }
    mark(name, init) {
      self(this);
      need(arguments.length, "execute 'mark' on 'Performance'");
      return keep(new PerformanceMark(name, options(init, "execute 'mark' on 'Performance'")));
    }
    measure(name, from, to) {
      self(this);
      need(arguments.length, "execute 'measure' on 'Performance'");
      name = named(name);
      let start = 0;
      let end = now();
      let detail = null;
      if (isObject(from)) {
        detail = detailOf(from);
        if (from.start !== undefined) start = Number(from.start);
        if (from.end !== undefined) end = Number(from.end);
        else if (from.duration !== undefined) end = start + Number(from.duration);
      } else if (from !== undefined && from !== null) {
        start = at(String(from), 0);
        if (to !== undefined) end = at(String(to), end);
      }
      return keep(new PerformanceMeasure(secret, name, start, end, detail));
    }
    setResourceTimingBufferSize() {}
    toJSON() {
      return { timeOrigin: 0 };
    }
    get nodeTiming() {
      return new PerformanceNodeTiming(secret, "node", "node", 0, 0);
    }
    eventLoopUtilization() {
      return { idle: 0, active: 0, utilization: 0 };
    }
    markResourceTiming() {}
    timerify(f) {
      if (typeof f !== "function") {
        throw new TypeError("Failed to execute 'timerify' on 'Performance': parameter 1 is not of type 'function'.");
      }
      return f;
    }
  }
  defineProperty(Performance.prototype, "now", { value: now, writable: true, configurable: true });
  const classes = {
    Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver, PerformanceObserverEntryList,
    PerformanceResourceTiming,
  };
  for (const C of [...Object.values(classes), EventCounts, PerformanceNodeTiming]) finish(C);
  performance = new Performance(secret);
  return { ...classes, performance };
});
