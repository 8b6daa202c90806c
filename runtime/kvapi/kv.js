// The class of env.KV. The value is a function of the host's functions that returns one which makes an object.
(function (host) {
	"use strict";
	const { from, isArray } = Array;
	const { isView } = ArrayBuffer;
	const { stringify } = JSON;
	const { trunc } = Math;
	const { isFinite } = Number;
	const Buffer = ArrayBuffer, Bytes = Uint8Array, Streams = ReadableStream, Body = Response;
	const fail = (text) => {
		throw new TypeError(text);
	};
	const missing = (method, n, type) =>
		fail("Failed to execute '" + method + "' on 'KvNamespace': parameter " + n + " is not of type '" + type + "'.");
	const text = (v) => (typeof v === "symbol" ? fail("Cannot convert a Symbol value to a string") : String(v));
	const isObject = (v) => (typeof v === "object" && v !== null) || typeof v === "function";

	// integer converts as a 32-bit integer of the platform's does.
	const integer = (v) => {
		if (typeof v === "bigint") fail("Cannot convert a BigInt value to a number");
		const n = trunc(Number(v));
		if (!isFinite(n)) return 0;
		if (n < -2147483648 || n > 2147483647) {
			fail("Value out of range. Must be between -2147483648 and 2147483647 (inclusive).");
		}
		return n;
	};
	const optional = (v, convert) => (v === undefined ? undefined : convert(v));
	const orNull = (v, convert) => (v === undefined || v === null ? undefined : convert(v));
	// run calls f now, and has what it throws reject the promise.
	const run = async (f) => f();

	const readOptions = (v) => {
		if (v === undefined || v === null) return {};
		if (!isObject(v)) return { type: text(v) };
		return { type: optional(v.type, text), cacheTtl: optional(v.cacheTtl, integer) };
	};
	const writeOptions = (v) => {
		if (v === undefined || v === null) return {};
		if (!isObject(v)) missing("put", 3, "PutOptions");
		const { expiration, expirationTtl, metadata } = v;
		return {
			expiration: optional(expiration, integer),
			expirationTtl: optional(expirationTtl, integer),
			metadata: orNull(metadata, (m) => {
				const json = stringify(m);
				if (json === undefined) throw new SyntaxError('"undefined" is not valid JSON');
				return json;
			}),
		};
	};
	const listOptions = (v) => {
		if (v === undefined || v === null) return {};
		if (!isObject(v)) missing("list", 1, "ListOptions");
		const { limit, prefix, cursor } = v;
		return { limit: orNull(limit, integer), prefix: orNull(prefix, text), cursor: orNull(cursor, text) };
	};

	const bytes = (v) => {
		if (isView(v)) return new Bytes(v.buffer, v.byteOffset, v.byteLength);
		return v instanceof Buffer ? new Bytes(v) : undefined;
	};
	// collect reads a stream into what host.put takes.
	const collect = async (handle, stream) => {
		if (stream.locked) fail("The ReadableStream has been locked to a reader.");
		const reader = stream.getReader();
		const content = host.content(handle);
		for (;;) {
			const { done, value } = await reader.read();
			if (done) return content;
			const chunk = typeof value === "string" ? value : bytes(value);
			if (chunk === undefined) {
				const e = new TypeError("Draining read encountered a value that cannot be converted to bytes");
				await reader.cancel(e);
				throw e;
			}
			if (!host.append(content, chunk)) {
				await reader.cancel();
				return content;
			}
		}
	};
	const streamOf = (buffer) => new Body(buffer).body;

	class KvNamespace {
		#handle;
		constructor(handle) {
			if (!host.isHandle(handle)) fail("Illegal constructor");
			this.#handle = handle;
		}
		static self(v) {
			if (!isObject(v) || !(#handle in v)) fail(host.illegalInvocation);
			return v.#handle;
		}
		get(name, options) {
			const handle = self(this);
			if (arguments.length === 0) missing("get", 1, "string or Array");
			const keys = isArray(name) ? from(name, (key) => text(key)) : text(name);
			const { type, cacheTtl } = readOptions(options);
			host.requireEvent();
			if (isArray(keys)) return host.bulk(handle, keys, type, cacheTtl, false);
			return run(() => host.get(handle, keys, type, cacheTtl, false, streamOf));
		}
		list(options) {
			const handle = self(this);
			return run(() => {
				const { limit, prefix, cursor } = listOptions(options);
				return host.list(handle, limit, prefix, cursor);
			});
		}
		put(name, value, options) {
			const handle = self(this);
			const given = arguments.length;
			return run(async () => {
				if (given < 1) missing("put", 1, "string");
				const key = text(name);
				if (given < 2) missing("put", 2, "string or Object");
				let content = isObject(value) ? value : text(value);
				const { expiration, expirationTtl, metadata } = writeOptions(options);
				host.checkPut(handle, key);
				if (isObject(value)) {
					content = value instanceof Streams ? await collect(handle, value) : bytes(value);
					if (content === undefined) {
						fail("KV put() accepts only strings, ArrayBuffers, ArrayBufferViews, and ReadableStreams as values.");
					}
				}
				return host.put(handle, key, content, expiration, expirationTtl, metadata);
			});
		}
		getWithMetadata(name, options) {
			const handle = self(this);
			if (arguments.length === 0) missing("getWithMetadata", 1, "Array or string");
			const keys = isArray(name) ? from(name, (key) => text(key)) : text(name);
			const { type, cacheTtl } = readOptions(options);
			host.requireEvent();
			if (isArray(keys)) return host.bulk(handle, keys, type, cacheTtl, true);
			host.checkGet(handle, keys);
			return host.get(handle, keys, type, cacheTtl, true, streamOf);
		}
		delete(name) {
			const handle = self(this);
			const given = arguments.length;
			return run(() => {
				if (given < 1) missing("delete", 1, "string");
				return host.delete(handle, text(name));
			});
		}
	}
	const { self, prototype } = KvNamespace;
	delete KvNamespace.self;
	delete prototype.constructor;
	Object.defineProperty(prototype, "constructor", { value: KvNamespace, writable: true, configurable: true });
	for (const method of ["get", "list", "put", "getWithMetadata", "delete"]) {
		Object.defineProperty(prototype[method], "length", { value: 0, configurable: true });
		Object.defineProperty(prototype, method, { enumerable: true });
	}
	Object.defineProperty(prototype, Symbol.toStringTag, { value: "KvNamespace", writable: true, configurable: true });
	return { make: (handle) => new KvNamespace(handle), class: KvNamespace };
});
