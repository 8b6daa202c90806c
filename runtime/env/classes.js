// The classes of namespaces, IDs and stubs, and those that cloudflare:workers exports. The value is a function of the
// host's functions.
(function (host) {
	const { defineProperty, getPrototypeOf, prototype: objectPrototype } = Object;
	const hasOwn = Object.hasOwn;
	const missing = (method, owner, n, type) =>
		new TypeError("Failed to execute '" + method + "' on '" + owner + "': parameter " + n + " is not of type '" + type + "'.");
	const tag = (c, name) => defineProperty(c.prototype, Symbol.toStringTag, { value: name, configurable: true });
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

	class DurableObjectId {
		#hex;
		constructor(hex, name) {
			guard();
			this.#hex = hex;
			defineProperty(this, "name", { value: name, enumerable: true });
			defineProperty(this, "jurisdiction", { value: undefined, enumerable: true });
		}
		toString() {
			return this.#hex;
		}
		equals(other) {
			if (!isID(other)) throw missing("equals", "DurableObjectId", 1, "DurableObjectId");
			return this.#hex === other.#hex;
		}
		static is(v) {
			return typeof v === "object" && v !== null && #hex in v;
		}
	}
	const isID = DurableObjectId.is;
	delete DurableObjectId.is;
	tag(DurableObjectId, "DurableObjectId");
	const idText = DurableObjectId.prototype.toString;

	class Fetcher {
		constructor() {
			guard();
		}
		[Symbol.dispose]() {}
	}
	tag(Fetcher, "Fetcher");
	class DurableObjectStub extends Fetcher {}
	defineProperty(DurableObjectStub, "name", { value: "DurableObject" });
	tag(DurableObjectStub, "DurableObject");

	// property is what a stub has under a name that is none of its own: a method to call, and a value to await.
	const property = (handle, name) => {
		const f = function (...args) {
			return host.call(handle, name, args);
		};
		const read = () => host.call(handle, name, undefined);
		defineProperty(f, "then", { value: (a, b) => read().then(a, b), configurable: true });
		defineProperty(f, "catch", { value: (a) => read().catch(a), configurable: true });
		defineProperty(f, "finally", { value: (a) => read().finally(a), configurable: true });
		return f;
	};
	const stubHandler = {
		get(target, name, receiver) {
			if (typeof name !== "string" || hasOwn(target, name) || name === "constructor") {
				return Reflect.get(target, name, receiver);
			}
			if (name === "then" || name in objectPrototype) return name === "then" ? undefined : Reflect.get(target, name);
			if (!host.rpc) return undefined;
			return property(handles.get(target), name);
		},
	};
	const handles = new WeakMap();
	const newStub = (handle, id) => {
		const target = make(id === undefined ? Fetcher : DurableObjectStub);
		handles.set(target, handle);
		if (id !== undefined) {
			defineProperty(target, "id", { value: id, enumerable: true });
			defineProperty(target, "name", { value: id.name, enumerable: true });
		}
		defineProperty(target, "fetch", {
			value: function fetch(input, init) {
				return host.fetch(handle, input, init, arguments.length);
			},
			writable: true, configurable: true,
		});
		return new Proxy(target, stubHandler);
	};

	const routingModes = ["primary-only"];
	const options = (o) => {
		const mode = o?.routingMode;
		if (mode !== undefined && !routingModes.includes(String(mode))) throw new RangeError("unknown routingMode: " + mode);
	};
	const jurisdictionText = "Jurisdiction restrictions are not implemented in workerd.";
	class DurableObjectNamespace {
		#namespace;
		constructor(namespace) {
			guard();
			this.#namespace = namespace;
		}
		newUniqueId(o) {
			if (o?.jurisdiction !== undefined && o.jurisdiction !== null) throw new Error(jurisdictionText);
			return make(DurableObjectId, host.uniqueID(this.#namespace), undefined);
		}
		idFromName(name) {
			if (arguments.length === 0) throw missing("idFromName", "DurableObjectNamespace", 1, "string");
			name = String(name);
			return make(DurableObjectId, host.namedID(this.#namespace, name), name);
		}
		idFromString(text) {
			if (arguments.length === 0) throw missing("idFromString", "DurableObjectNamespace", 1, "string");
			return make(DurableObjectId, host.parseID(this.#namespace, String(text)), undefined);
		}
		get(id, o) {
			if (!isID(id)) throw missing("get", "DurableObjectNamespace", 1, "DurableObjectId");
			options(o);
			return newStub(host.stub(this.#namespace, idText.call(id), id.name), id);
		}
		getByName(name, o) {
			if (arguments.length === 0) throw missing("getByName", "DurableObjectNamespace", 1, "string");
			return this.get(this.idFromName(name), o);
		}
		jurisdiction(name) {
			if (name !== undefined && name !== null) throw new Error(jurisdictionText);
			return make(DurableObjectNamespace, this.#namespace);
		}
	}
	tag(DurableObjectNamespace, "DurableObjectNamespace");

	// states are the DurableObjectState objects that there are.
	const states = new WeakSet();
	class DurableObject {
		constructor(ctx, env) {
			if (!states.has(ctx)) {
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
	const absent = (name) =>
		class {
			constructor() {
				throw new Error(name + " is not supported yet: only values can cross between objects");
			}
		};

	// find looks for a method as RPC does: on the class and those that it extends, never on the instance itself.
	const find = (instance, name) => {
		const end = [null, DurableObject.prototype, WorkerEntrypoint.prototype, objectPrototype];
		for (let p = getPrototypeOf(instance); !end.includes(p); p = getPrototypeOf(p)) {
			if (name !== "constructor" && hasOwn(p, name)) return p;
		}
		return null;
	};
	// invoke calls a method, or reads a property when args is undefined.
	const invoke = (instance, name, args) => {
		const p = find(instance, name);
		if (p === null) return host.noMethod;
		const v = Reflect.get(p, name, instance);
		if (args === undefined) return v;
		if (typeof v !== "function") throw new TypeError('"' + name + '" is not a function.');
		return Reflect.apply(v, instance, args);
	};

	return {
		namespace: (n) => make(DurableObjectNamespace, n),
		fetcher: (handle) => newStub(handle),
		id: (hex, name) => make(DurableObjectId, hex, name),
		states, invoke, make, guard, tag, missing,
		isEntrypoint: (v) => typeof v === "function" && v.prototype instanceof WorkerEntrypoint,
		supportsRPC: (instance) => instance instanceof DurableObject,
		platform: [DurableObjectId, DurableObjectNamespace, Fetcher, DurableObjectStub],
		module: {
			DurableObject, WorkerEntrypoint, WorkflowEntrypoint, RpcTarget,
			RpcStub: absent("RpcStub"), RpcPromise: absent("RpcPromise"), RpcProperty: absent("RpcProperty"),
		},
	};
})
