// Probes say what a runtime does: each is a function whose outcome is printed as one line of JSON, the same wherever the
// behaviour is the same. Probes of a Worker get {request, env, ctx, object}, where object(name) is a stub of an object
// that nobody else uses; probes of an object run within one, and get (ctx, env, self).
const areas = new Map();

// area registers the probes of an area.
export function area(name, { worker = {}, object = {} }) {
  areas.set(name, { worker, object });
}

export const areaNames = () => [...areas.keys()];

// plain turns a value into one that JSON shows without loss.
export function plain(v, depth = 0) {
  if (depth > 8) return { $: "deep" };
  const inner = (x) => plain(x, depth + 1);
  switch (typeof v) {
    case "string":
      return v.replace(/[0-9a-f]{64}/g, "<id>").replace(/reference = \w+/, "reference = <r>");
    case "boolean":
      return v;
    case "number":
      return Number.isFinite(v) && !Object.is(v, -0) ? v : { $: Object.is(v, -0) ? "-0" : String(v) };
    case "undefined":
      return { $: "undefined" };
    case "bigint":
      return { $: v + "n" };
    case "symbol":
      return { $: v.toString() };
    case "function":
      return { $: "function " + v.name };
  }
  if (v === null) return null;
  if (v instanceof Error || v instanceof DOMException) return error(v, inner);
  if (v instanceof Date) return { Date: v.getTime() };
  if (v instanceof RegExp) return { RegExp: String(v) };
  if (v instanceof Map) return { Map: [...v].map(inner) };
  if (v instanceof Set) return { Set: [...v].map(inner) };
  if (v instanceof Headers) return { Headers: [...v] };
  if (v instanceof ArrayBuffer) return { ArrayBuffer: [...new Uint8Array(v)] };
  if (v instanceof DataView) return { DataView: [...new Uint8Array(v.buffer, v.byteOffset, v.byteLength)] };
  if (ArrayBuffer.isView(v)) return { [v.constructor.name]: [...v].map(inner) };
  if (Array.isArray(v)) return v.map(inner);
  const name = v.constructor?.name;
  const fields = Object.fromEntries(Object.keys(v).map((k) => [k, inner(v[k])]));
  return name && name !== "Object" ? { $: name, ...fields } : fields;
}

// error shows an error as its name and message, with its own properties behind.
function error(e, inner) {
  const out = { error: `${e.name}: ${inner(e.message)}` };
  for (const k of Object.keys(e)) {
    if (k !== "stack" && !(e instanceof DOMException)) out[k] = inner(e[k]);
  }
  if ("cause" in e && e.cause !== undefined) out.cause = inner(e.cause);
  return out;
}

// outcome runs a probe and returns what it gave, as text.
export async function outcome(run, limit = 15000) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing after ${limit} ms`)), limit);
  });
  try {
    return JSON.stringify({ value: plain(await Promise.race([run(), late])) });
  } catch (e) {
    return JSON.stringify({ throws: plain(e) });
  } finally {
    clearTimeout(timer);
  }
}

// runWithin runs a probe of an object, within it.
export const runWithin = (areaName, name, self) =>
  outcome(() => areas.get(areaName).object[name](self.ctx, self.env, self));

// runArea yields the lines of an area. Objects are named by run, so that a second run finds nothing of the first.
export async function* runArea(areaName, run, request, env, ctx) {
  const { worker, object } = areas.get(areaName);
  for (const [name, probe] of Object.entries(worker)) {
    const stub = (n = "", namespace = "PROBE") =>
      env[namespace].get(env[namespace].idFromName(`${run}/${areaName}/${name}/${n}`));
    yield `${areaName}/${name} ${await outcome(() => probe({ request, env, ctx, object: stub, run }))}`;
  }
  for (const name of Object.keys(object)) {
    const id = env.PROBE.idFromName(`${run}/${areaName}/${name}`);
    let line;
    try {
      line = await env.PROBE.get(id).run(areaName, name);
    } catch (e) {
      line = JSON.stringify({ rejected: plain(e) });
    }
    yield `${areaName}/${name} ${line}`;
  }
}
