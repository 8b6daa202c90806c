// What a JavaScript object has as ctx. The value is a function of the host's functions and of what package env gives.
(function (host, { make, guard, tag, missing, states }) {
	const { defineProperty } = Object;
	const putText = "put() may only be called with a single key-value pair and optional options as put(key, value, options) " +
		"or with multiple key-value pairs and optional options as put(entries, options)";
	const isObject = (v) => (typeof v === "object" && v !== null) || typeof v === "function";
	// flags are the options of a write or a read as bits.
	const flags = (o) => (o ? (o.allowUnconfirmed ? 1 : 0) | (o.noCache ? 2 : 0) | (o.allowConcurrency ? 4 : 0) : 0);
	const toMap = (flat) => {
		const m = new Map();
		for (let n = 0; n < flat.length; n += 2) m.set(flat[n], flat[n + 1]);
		return m;
	};
	const listOptions = (owner, o) => {
		if (o === undefined || o === null) return {};
		if (!isObject(o)) throw missing("list", owner, 1, "ListOptions");
		const out = { flags: flags(o), reverse: !!o.reverse };
		for (const name of ["start", "startAfter", "end", "prefix"]) {
			if (o[name] !== undefined && o[name] !== null) out[name] = String(o[name]);
		}
		if (out.start !== undefined && out.startAfter !== undefined) {
			throw new TypeError("list() cannot be called with both start and startAfter values.");
		}
		if (o.limit !== undefined && o.limit !== null) {
			out.limit = Math.trunc(Number(o.limit));
			if (!(out.limit > 0)) throw new TypeError("List limit must be positive.");
		}
		return out;
	};
	const put = (h, owner, args) => {
		const [a, b, c] = args;
		if (args.length === 0 || a === undefined || a === null) throw missing("put", owner, 1, "string or object");
		if (isObject(a)) {
			if (args.length > 1 && b !== undefined && !isObject(b)) throw new TypeError(putText);
			const flat = [];
			for (const key of Object.keys(a)) {
				const v = a[key];
				if (v !== undefined) flat.push(key, v);
			}
			return host.put(h, flat, flags(b));
		}
		if (b === undefined) throw new TypeError("put() called with undefined value.");
		return host.put(h, [String(a), b], flags(c));
	};
	const get = (h, owner, args) => {
		const [a, o] = args;
		if (args.length === 0) throw missing("get", owner, 1, "string or Array");
		if (Array.isArray(a)) return toMap(host.getMany(h, a.map(String), flags(o)));
		return host.get(h, String(a), flags(o));
	};
	const del = (h, owner, args) => {
		const [a, o] = args;
		if (args.length === 0) throw missing("delete", owner, 1, "string or Array");
		if (Array.isArray(a)) return host.delete(h, a.map(String), flags(o));
		return host.delete(h, [String(a)], flags(o)) > 0;
	};
	const alarmTime = (owner, args) => {
		const [t] = args;
		if (t instanceof Date) return t.getTime();
		if (typeof t === "number") return t;
		throw missing("setAlarm", owner, 1, "date");
	};

	// The operations that storage and its transactions have in common.
	class Operations {
		#h;
		constructor(h) {
			guard();
			this.#h = h;
		}
		async get(...args) {
			return get(this.#h, this.constructor.name, args);
		}
		async list(options) {
			return toMap(host.list(this.#h, listOptions(this.constructor.name, options)));
		}
		async put(...args) {
			put(this.#h, this.constructor.name, args);
		}
		async delete(...args) {
			return del(this.#h, this.constructor.name, args);
		}
		async getAlarm(o) {
			return host.getAlarm(this.#h);
		}
		async setAlarm(...args) {
			host.setAlarm(this.#h, alarmTime(this.constructor.name, args), flags(args[1]));
		}
		async deleteAlarm(o) {
			host.deleteAlarm(this.#h, flags(o));
		}
		static handle(v) {
			return v.#h;
		}
	}
	const handle = Operations.handle;
	delete Operations.handle;

	class DurableObjectTransaction extends Operations {
		rollback() {
			host.rollback(handle(this));
		}
		deleteAll() {
			throw new Error("Cannot call deleteAll() within a transaction");
		}
	}
	tag(DurableObjectTransaction, "DurableObjectTransaction");

	const listText = "kv.list() iterator was invalidated because a new call to kv.list() was started. " +
		"Only one kv.list() iterator can exist at a time.";
	class SyncKvStorage {
		#h;
		#round = 0;
		constructor(h) {
			guard();
			this.#h = h;
		}
		get(key) {
			if (arguments.length === 0) throw missing("get", "SyncKvStorage", 1, "string");
			return host.get(this.#h, String(key), 0);
		}
		put(key, value) {
			if (arguments.length === 0) throw missing("put", "SyncKvStorage", 1, "string");
			if (value === undefined) throw new TypeError("put() called with undefined value.");
			host.put(this.#h, [String(key), value], 0);
		}
		delete(key) {
			if (arguments.length === 0) throw missing("delete", "SyncKvStorage", 1, "string");
			return host.delete(this.#h, [String(key)], 0) > 0;
		}
		list(options) {
			const flat = host.list(this.#h, listOptions("SyncKvStorage", options));
			const round = ++this.#round;
			const current = () => round === this.#round;
			return (function* () {
				for (let n = 0; n < flat.length; n += 2) {
					if (!current()) throw new Error(listText);
					yield [flat[n], flat[n + 1]];
				}
			})();
		}
	}
	tag(SyncKvStorage, "SyncKvStorage");

	const sqlText = "storage.sql is not supported yet: use storage.kv or the asynchronous storage API";
	class SqlStorage {
		constructor() {
			guard();
		}
		exec() {
			throw new Error(sqlText);
		}
		get databaseSize() {
			throw new Error(sqlText);
		}
	}
	tag(SqlStorage, "SqlStorage");
	const noKvText = "The storage.kv (synchronous KV) API is only available for SQLite-backed Durable Objects, but this " +
		"object's namespace is not declared to use SQLite. You can use the older, asynchronous interface via methods of " +
		"`storage` itself (e.g. `storage.get()`).";
	const noSqlText = "SQL is not enabled for this Durable Object class. To enable it, change `new_classes` to " +
		"`new_sqlite_classes` in the migrations of your wrangler file.";

	class DurableObjectStorage extends Operations {
		#kv;
		#sql;
		get kv() {
			if (!host.sqlite(handle(this))) throw new Error(noKvText);
			return (this.#kv ??= make(SyncKvStorage, handle(this)));
		}
		get sql() {
			if (!host.sqlite(handle(this))) throw new Error(noSqlText);
			return (this.#sql ??= make(SqlStorage));
		}
		async deleteAll(options) {
			host.deleteAll(handle(this));
		}
		async sync() {
			await host.sync(handle(this));
		}
		async transaction(closure) {
			if (typeof closure !== "function") throw missing("transaction", "DurableObjectStorage", 1, "function");
			return host.transaction(handle(this), closure, (h) => make(DurableObjectTransaction, h));
		}
		transactionSync(closure) {
			if (typeof closure !== "function") throw missing("transactionSync", "DurableObjectStorage", 1, "function");
			if (!host.sqlite(handle(this))) throw new Error("Durable Object is not backed by SQL.");
			return host.transactionSync(handle(this), closure);
		}
		async getCurrentBookmark() {
			throw new Error("This Durable Object's storage back-end does not implement point-in-time recovery.");
		}
		async getBookmarkForTime() {
			throw new Error("This Durable Object's storage back-end does not implement point-in-time recovery.");
		}
		async onNextSessionRestoreBookmark() {
			throw new Error("This Durable Object's storage back-end does not implement point-in-time recovery.");
		}
	}
	tag(DurableObjectStorage, "DurableObjectStorage");

	const noFacets = () => {
		throw new Error("facets of Durable Objects are not supported");
	};
	const facets = Object.freeze({ get: noFacets, abort: noFacets, delete: noFacets, clone: noFacets });
	const socketText = "WebSockets in Durable Objects are not supported yet";
	class DurableObjectState {
		#h;
		constructor(h, id, exports) {
			guard();
			this.#h = h;
			states.add(this);
			defineProperty(this, "facets", { value: facets, enumerable: true });
			defineProperty(this, "container", { value: undefined, enumerable: true });
			defineProperty(this, "storage", { value: make(DurableObjectStorage, h), enumerable: true });
			defineProperty(this, "id", { value: id, enumerable: true });
			defineProperty(this, "props", { value: {}, enumerable: true });
			if (exports !== undefined) defineProperty(this, "exports", { value: exports, enumerable: true });
		}
		waitUntil(promise) {
			if (arguments.length === 0) throw missing("waitUntil", "DurableObjectState", 1, "Promise");
			host.waitUntil(this.#h, promise);
		}
		async blockConcurrencyWhile(callback) {
			if (typeof callback !== "function") throw missing("blockConcurrencyWhile", "DurableObjectState", 1, "function");
			return host.block(this.#h, callback);
		}
		abort(reason, options) {
			host.abort(this.#h, reason === undefined ? undefined : String(reason), options?.retryAlarm === false);
		}
		acceptWebSocket() {
			throw new Error(socketText);
		}
		getWebSockets() {
			return [];
		}
		getTags() {
			throw new Error(socketText);
		}
		setWebSocketAutoResponse() {
			throw new Error(socketText);
		}
		getWebSocketAutoResponse() {
			return null;
		}
		getWebSocketAutoResponseTimestamp() {
			return null;
		}
		setHibernatableWebSocketEventTimeout() {}
		getHibernatableWebSocketEventTimeout() {
			return null;
		}
	}
	tag(DurableObjectState, "DurableObjectState");

	return {
		platform: [DurableObjectState, DurableObjectStorage, DurableObjectTransaction, SyncKvStorage, SqlStorage],
		newState: (h, id, exports) => make(DurableObjectState, h, id, exports),
		alarmInfo: (scheduledTime, retryCount) =>
			Object.freeze({ isRetry: retryCount > 0, retryCount, scheduledTime }),
	};
})
