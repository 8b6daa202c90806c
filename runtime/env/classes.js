// The classes of namespaces, IDs and stubs, and those that cloudflare:workers exports. The value is a function of the
// host's functions.
(function (host) {
	const { defineProperty, getPrototypeOf, prototype: objectPrototype } = Object;
	const hasOwn = Object.hasOwn;
	const apply = Reflect.apply;
	const promiseThen = Promise.prototype.then;
	const missing = (method, owner, n, type) =>
		new TypeError("Failed to execute '" + method + "' on '" + owner + "': parameter " + n + " is not of type '" + type + "'.");
	const tag = (c, name) => {
		if (host.tagged) defineProperty(c.prototype, Symbol.toStringTag, { value: name, configurable: true });
	};
	let making = false;
	const make = (c, ...args) => {
		making = true;
		try {
			return new c(...args);
		} finally {
			making = false;
		}
	};
	const guard = () => {
		if (!making) throw new TypeError("Illegal constructor");
		making = false;
	};

	const illegal = () => new TypeError("Illegal constructor");
	// natively gives a class methods that are the host's own: those that are called for nearly each event.
	const natively = (c, methods) => {
		for (const name of Object.keys(methods)) {
			defineProperty(c.prototype, name, { value: methods[name], writable: true, configurable: true });
		}
	};

	class DurableObjectId {
		constructor() {
			throw illegal();
		}
	}
	natively(DurableObjectId, host.ids);
	tag(DurableObjectId, "DurableObjectId");

	// Of stubs the host makes the objects; the classes are there for their prototypes.
	class Fetcher {
		constructor() {
			throw illegal();
		}
		[Symbol.dispose]() {}
	}
	defineProperty(Fetcher.prototype, "fetch", { value: host.fetch, writable: true, configurable: true });
	tag(Fetcher, "Fetcher");
	class DurableObjectStub extends Fetcher {}
	defineProperty(DurableObjectStub, "name", { value: "DurableObject" });
	tag(DurableObjectStub, "DurableObject");

	class DurableObjectNamespace {
		constructor() {
			throw illegal();
		}
	}
	natively(DurableObjectNamespace, host.namespaces);
	tag(DurableObjectNamespace, "DurableObjectNamespace");

	class DurableObject {
		constructor(ctx, env) {
			if (!host.isState(ctx)) {
				throw new TypeError("Failed to construct 'DurableObjectBase': constructor parameter 1 is not of type 'DurableObjectState'.");
			}
			this.ctx = ctx;
			this.env = env;
		}
	}
	class WorkerEntrypoint {
		constructor(ctx, env) {
			this.ctx = ctx;
			this.env = env;
		}
	}
	class WorkflowEntrypoint extends WorkerEntrypoint {}
	class RpcTarget {}
	tag(RpcTarget, "RpcTarget");
	// Stubs of RPC are proxies of functions: the host makes them, and answers for the properties that these classes lack.
	class RpcStub {
		constructor(target) {
			return host.newStub(target);
		}
		dup() {
			return host.dup(this);
		}
		[Symbol.dispose]() {
			host.dispose(this);
		}
	}
	class RpcPromise {
		constructor() {
			guard();
		}
		// The engine calls then for await, with functions of its own and with no use for what then returns.
		then(fulfilled, rejected) {
			if (host.await(this, fulfilled, rejected)) return undefined;
			return apply(promiseThen, host.promise(this), [fulfilled, rejected]);
		}
		catch(rejected) {
			return apply(promiseThen, host.promise(this), [undefined, rejected]);
		}
		finally(f) {
			return host.promise(this).finally(f);
		}
		[Symbol.dispose]() {
			host.dispose(this);
		}
	}
	class RpcProperty {
		constructor() {
			guard();
		}
	}
	for (const name of ["then", "catch", "finally"]) {
		defineProperty(RpcProperty.prototype, name, { value: RpcPromise.prototype[name], writable: true, configurable: true });
	}
	tag(RpcStub, "JsRpcStub");
	tag(RpcPromise, "JsRpcPromise");
	tag(RpcProperty, "JsRpcProperty");
	for (const c of host.tagged ? [] : [RpcStub, RpcPromise, RpcProperty]) {
		defineProperty(c.prototype, Symbol.toStringTag, { value: "Object", configurable: true }); // or else it is Function
	}

	const objectBase = DurableObject.prototype;
	const entrypointBase = WorkerEntrypoint.prototype;
	const targetBase = RpcTarget.prototype;
	// find looks for a method as RPC does: on the class and those that it extends, never on the instance itself.
	const find = (instance, name) => {
		if (name === "constructor") return null;
		for (let p = getPrototypeOf(instance); p !== null && p !== objectPrototype; p = getPrototypeOf(p)) {
			if (p === objectBase || p === entrypointBase || p === targetBase) return null;
			if (hasOwn(p, name)) return p;
		}
		return null;
	};
	// invoke calls a method, or reads a property when args is undefined.
	const invoke = (instance, name, args) => {
		const p = find(instance, name);
		if (p === null) return host.noMethod(name);
		const v = Reflect.get(p, name, instance);
		if (args === undefined) return v;
		if (typeof v !== "function") return host.notFunction(name);
		return Reflect.apply(v, instance, args);
	};
	const isStub = (v) =>
		v instanceof RpcStub || v instanceof RpcPromise || v instanceof RpcProperty || v instanceof Fetcher;
	// may reports whether RPC may look at a property of v, and from where it is read then: what classes have on their
	// prototypes, and what functions and plain objects have themselves.
	const may = (v, name) => {
		if (typeof v === "function") return isStub(v) || hasOwn(v, name) ? v : null;
		if (typeof v !== "object" || v === null) return null;
		const p = getPrototypeOf(v);
		if (p === objectPrototype) return hasOwn(v, name) ? v : null;
		if (v instanceof RpcTarget || v instanceof DurableObject || v instanceof WorkerEntrypoint) return find(v, name);
		return isStub(v) ? v : null;
	};
	// follow is invoke for a path of properties that begins at any value.
	const follow = (v, path, args) => {
		let owner = v;
		for (const name of path) {
			const from = may(v, name);
			if (from === null) return host.noMethod(name);
			owner = v;
			v = from === v ? v[name] : Reflect.get(from, name, v);
		}
		if (args === undefined) return v;
		if (typeof v !== "function") return host.notFunction(path.length > 0 ? path[path.length - 1] : "(this)");
		return Reflect.apply(v, owner, args);
	};

	// handle is follow for an object of handlers, which is no class: a function of it gets one argument of the caller's.
	const handle = (handlers, path, args, env, ctx) => {
		const f = follow(handlers, path, undefined);
		if (args === undefined || host.isUnfound(f)) return f;
		if (typeof f !== "function") return host.notFunction(path[path.length - 1]);
		if (f.length > 3) {
			throw new TypeError("Cannot call handler function \"" + path.join(".") + "\" over RPC because it has the wrong number of " +
				"arguments. A simple function handler can only be called over RPC if it has exactly the arguments (arg, env, ctx), " +
				"where only the first argument comes from the client. To support multi-argument RPC functions, use class-based " +
				"syntax (extending WorkerEntrypoint) instead.");
		}
		if (args.length !== 1) {
			throw new TypeError("Attempted to call RPC function \"" + path.join(".") + "\" with the wrong number of arguments. When " +
				"calling a top-level handler function that is not declared as part of a class, you must always send exactly one " +
				"argument. In order to support variable numbers of arguments, the server must use class-based syntax (extending " +
				"WorkerEntrypoint) instead.");
		}
		const owner = path.length > 1 ? follow(handlers, path.slice(0, -1), undefined) : handlers;
		return Reflect.apply(f, owner, [args[0], env, ctx]);
	};

	// sink is the function by which another script writes a WritableStream of this one.
	const disconnectedText = "WritableStream received over RPC was disconnected because the remote execution context has ended.";
	const sink = (stream) => {
		const writer = stream.getWriter();
		let open = true;
		writer.closed.catch(() => {});
		const f = async (operation, chunk) => {
			if (operation === "write") return void (await writer.write(chunk));
			open = false;
			await writer.close();
		};
		f[Symbol.dispose] = () => {
			if (open) writer.abort(Object.assign(new Error(disconnectedText), { retryable: true })).catch(() => {});
		};
		return f;
	};
	const notBytesText = "This TransformStream is being used as a byte stream, but received an object of " +
		"non-ArrayBuffer/ArrayBufferView type on its writable side.";
	const bytesOf = (chunk) => {
		if (typeof chunk === "string") chunk = new TextEncoder().encode(chunk);
		if (chunk instanceof ArrayBuffer) return chunk;
		if (!ArrayBuffer.isView(chunk)) throw new TypeError(notBytesText);
		return chunk.buffer.slice(chunk.byteOffset, chunk.byteOffset + chunk.byteLength);
	};
	// writable is a WritableStream that another script's sink takes.
	const writable = (sink, WritableStream) =>
		new WritableStream({
			async write(chunk) {
				await sink("write", bytesOf(chunk));
			},
			async close() {
				await sink("close");
				sink[Symbol.dispose]();
			},
			abort() {
				sink[Symbol.dispose]();
			},
		});

	// Spans of a script's own are not kept: what runs in them runs.
	class Span {
		constructor() {
			guard();
		}
		get isTraced() {
			return false;
		}
		spanContext() {}
		setAttribute() {
			return this;
		}
		setAttributes() {
			return this;
		}
		recordException() {}
		updateName() {
			return this;
		}
		setStatus() {
			return this;
		}
		end() {}
	}
	tag(Span, "Span");
	class Tracing {
		constructor() {
			guard();
		}
		enterSpan(name, f, ...args) {
			return f(make(Span), ...args);
		}
		startActiveSpan(name, ...rest) {
			return rest.at(-1)(make(Span));
		}
		startSpan() {
			return make(Span);
		}
		getActiveSpan() {}
		withActiveSpan(span, f, ...args) {
			return f(...args);
		}
	}
	Object.defineProperty(Tracing.prototype, "Span", { value: Span, writable: true, configurable: true });
	tag(Tracing, "Tracing");

	return {
		tell: (functions, value) => {
			for (let n = 0; n < functions.length; n++) functions[n](value);
		},
		services: Fetcher.prototype,
		objects: DurableObjectStub.prototype,
		ids: DurableObjectId.prototype,
		namespaces: DurableObjectNamespace.prototype,
		invoke, follow, handle, sink, writable, make, guard, natively, tag, missing,
		isEntrypoint: (v) => typeof v === "function" && v.prototype instanceof WorkerEntrypoint,
		supportsRPC: (instance) => instance instanceof DurableObject,
		platform: [DurableObjectId, DurableObjectNamespace, Fetcher, DurableObjectStub],
		module: {
			DurableObject, WorkerEntrypoint, WorkflowEntrypoint, RpcTarget, RpcStub, RpcPromise, RpcProperty, ServiceStub: Fetcher,
			tracing: make(Tracing),
		},
	};
})
