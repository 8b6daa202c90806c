// What a JavaScript object has as ctx. The value is a function of the host's functions and of what package env gives.
(function (host, { make, guard, natively, tag, missing }) {
	const { defineProperty } = Object;
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
	const alarmTime = (owner, args) => {
		const [t] = args;
		if (t instanceof Date) return t.getTime();
		if (typeof t === "number") return t;
		throw missing("setAlarm", owner, 1, "date");
	};

	// The operations that storage and its transactions have in common. The host makes both, and the states of objects, and
	// knows them by what it has attached to them.
	class Operations {
		constructor() {
			guard();
		}
		async list(options) {
			return toMap(host.list(this, listOptions(this.constructor.name, options)));
		}
		async getAlarm(o) {
			return host.getAlarm(this);
		}
		async setAlarm(...args) {
			host.setAlarm(this, alarmTime(this.constructor.name, args), flags(args[1]));
		}
		async deleteAlarm(o) {
			host.deleteAlarm(this, flags(o));
		}
	}
	natively(Operations, host.operations);
	// flat has the prototype of a class that extends Operations have all its methods itself, as workerd's have them.
	const flat = (c) => {
		const { constructor, ...methods } = Object.getOwnPropertyDescriptors(Operations.prototype);
		for (const name of Object.keys(methods)) {
			if (!Object.hasOwn(c.prototype, name)) defineProperty(c.prototype, name, methods[name]);
		}
		Object.setPrototypeOf(c.prototype, Object.prototype);
	};

	class DurableObjectTransaction extends Operations {
		rollback() {
			host.rollback(this);
		}
		deleteAll() {
			throw new Error("Cannot call deleteAll() within a transaction");
		}
	}
	flat(DurableObjectTransaction);
	tag(DurableObjectTransaction, "DurableObjectTransaction");

	const listText = "kv.list() iterator was invalidated because a new call to kv.list() was started. " +
		"Only one kv.list() iterator can exist at a time.";
	class SyncKvStorage {
		#storage;
		#round = 0;
		constructor(storage, h) {
			guard();
			this.#storage = storage;
			host.attach(this, h);
		}
		list(options) {
			const flat = host.list(this.#storage, listOptions("SyncKvStorage", options));
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
	natively(SyncKvStorage, host.kv);
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

	// become has a property that an object has itself, and makes when it is first read, be its value from then on. Like
	// those of workerd's objects. The host defines kv and sql so.
	const become = (o, name, value) => {
		defineProperty(o, name, { value, enumerable: true, configurable: true });
		return value;
	};
	const kv = function () {
		if (!host.sqlite(this)) throw new Error(noKvText);
		return become(this, "kv", make(SyncKvStorage, this, host.handle(this)));
	};
	const sql = function () {
		if (!host.sqlite(this)) throw new Error(noSqlText);
		return become(this, "sql", make(SqlStorage));
	};

	class DurableObjectStorage extends Operations {
		async deleteAll(options) {
			host.deleteAll(this);
		}
		async sync() {
			await host.sync(this);
		}
		async transaction(closure) {
			if (typeof closure !== "function") throw missing("transaction", "DurableObjectStorage", 1, "function");
			return host.transaction(this, closure);
		}
		transactionSync(closure) {
			if (typeof closure !== "function") throw missing("transactionSync", "DurableObjectStorage", 1, "function");
			if (!host.sqlite(this)) throw new Error("Durable Object is not backed by SQL.");
			return host.transactionSync(this, closure);
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
	flat(DurableObjectStorage);
	tag(DurableObjectStorage, "DurableObjectStorage");

	const noFacets = () => {
		throw new Error("facets of Durable Objects are not supported");
	};
	const facets = Object.freeze({ get: noFacets, abort: noFacets, delete: noFacets, clone: noFacets });
	const socketText = "WebSockets in Durable Objects are not supported yet";
	class DurableObjectState {
		constructor() {
			guard();
		}
		waitUntil(promise) {
			if (arguments.length === 0) throw missing("waitUntil", "DurableObjectState", 1, "Promise");
			host.waitUntil(this, promise);
		}
		async blockConcurrencyWhile(callback) {
			if (typeof callback !== "function") throw missing("blockConcurrencyWhile", "DurableObjectState", 1, "function");
			return host.block(this, callback);
		}
		abort(reason, options) {
			host.abort(this, reason === undefined ? undefined : String(reason), options?.retryAlarm === false);
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
		toMap, facets, kv, sql,
		state: DurableObjectState.prototype,
		storage: DurableObjectStorage.prototype,
		transaction: DurableObjectTransaction.prototype,
		alarmInfo: (scheduledTime, retryCount) =>
			Object.freeze({ isRetry: retryCount > 0, retryCount, scheduledTime }),
	};
})
