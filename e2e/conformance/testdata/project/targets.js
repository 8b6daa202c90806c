// Classes that hand out targets and functions, and take them: an object, and an entrypoint of the Worker.
import { DurableObject, RpcTarget, WorkerEntrypoint } from "cloudflare:workers";

let log = [];

export class Target extends RpcTarget {
  own = 1;
  arrow = () => 1;
  static fixed = 3;
  #n;
  constructor(n) {
    super();
    this.#n = n;
  }
  get value() {
    return this.#n;
  }
  get failing() {
    throw new RangeError("getter of a target");
  }
  get deep() {
    return { a: { b: 7, f: () => 8 } };
  }
  inc(by = 1) {
    return (this.#n += by);
  }
  async slow(ms) {
    await scheduler.wait(ms);
    return ++this.#n;
  }
  sub(n) {
    return new Target(n);
  }
  self() {
    return this;
  }
  _under() {
    return "under";
  }
  fail() {
    throw new RangeError("in a target");
  }
  failOwn() {
    throw Object.assign(new TypeError("own"), { code: 7 });
  }
  [Symbol.dispose]() {
    log.push("disposed " + this.#n);
  }
}

const lending = (Base) =>
  class extends Base {
    echo(v) {
      return v;
    }
    kinds(...args) {
      return args.map((v) => [typeof v, Object.prototype.toString.call(v), v?.constructor?.name]);
    }
    target(n) {
      return new Target(n);
    }
    async slowTarget(n) {
      await scheduler.wait(5);
      return new Target(n);
    }
    get prop() {
      return new Target(11);
    }
    fn() {
      return Object.assign((a, b) => [a, b], { extra: { v: 2, q: () => 1 } });
    }
    things() {
      return { a: 1, t: new Target(3), f: (x) => x * 2, n: { d: new Target(4) } };
    }
    list() {
      return [1, () => 2, new Target(5)];
    }
    map() {
      return new Map([["f", () => 3]]);
    }
    plain(what) {
      return { number: 5, text: "abc", null: null, date: new Date(5), object: { a: { b: 1 } } }[what];
    }
    instance() {
      return new (class Q {
        y = 1;
      })();
    }
    async call(f, ...args) {
      return await f(...args);
    }
    async use(t) {
      return [await t.value, await t.inc(3)];
    }
    async both(f, g) {
      return [f === g, await f(1), await g(2)];
    }
    async methods(o) {
      return [await o.m(3), o.v, Object.keys(o)];
    }
    async error(f) {
      try {
        return await f();
      } catch (e) {
        return [e.name, e.message, e.remote, e instanceof RangeError, e.code];
      }
    }
    async kindOfResult(f) {
      const v = await f();
      return [typeof v, v.constructor.name, await v.value];
    }
    throws() {
      throw new Error("boom");
    }
    make(what) {
      switch (what) {
        case "headers":
          return new Headers([["a", "b"], ["set-cookie", "1"], ["set-cookie", "2"]]);
        case "response":
          return new Response("body", { status: 201, statusText: "Made", headers: { a: "b" } });
        case "no content":
          return new Response(null, { status: 204 });
        case "redirect":
          return Response.redirect("http://a/b", 302);
        case "error":
          return Response.error();
        case "request":
          return new Request("http://x/y?z", { method: "POST", body: "rb", headers: { a: "b" }, redirect: "manual" });
        case "slow":
          return new Response(
            new ReadableStream({
              async start(c) {
                for (const part of ["a", "b"]) {
                  c.enqueue(new TextEncoder().encode(part));
                  await scheduler.wait(2);
                }
                c.close();
              },
            }),
          );
        case "large":
          return new Response("x".repeat(3 << 20));
        case "bytes":
          return new ReadableStream({
            pull(c) {
              c.enqueue(new TextEncoder().encode("x1"));
              c.close();
            },
          });
        case "texts":
          return new ReadableStream({
            pull(c) {
              c.enqueue("text");
              c.close();
            },
          });
        case "objects":
          return new ReadableStream({ pull: (c) => c.enqueue({ a: 1 }) });
        case "failing":
          return new ReadableStream({ pull: (c) => c.error(new RangeError("bad")) });
      }
    }
    async read(v) {
      return [v.constructor.name, v.url, v.method ?? v.status, [...v.headers], await v.text()];
    }
    async readStream(v) {
      return [v.constructor.name, await new Response(v).text()];
    }
    async write(w, ...chunks) {
      const writer = w.getWriter();
      for (const chunk of chunks) await writer.write(typeof chunk === "number" ? new Uint8Array([chunk]) : chunk);
      await writer.close();
      return w.constructor.name;
    }
    async abortStream(w) {
      await w.abort(new RangeError("no more"));
    }
    async cancelStream(r) {
      await r.cancel(new RangeError("no more"));
    }
  };

export class Lender extends lending(DurableObject) {
  async keep(f) {
    this.kept = f;
  }
  async keepDup(f) {
    this.kept = f.dup();
  }
  async again(...args) {
    return await this.kept(...args);
  }
  // logged waits until n targets have been disposed of since it was asked last.
  async logged(n) {
    for (let k = 0; k < 100 && log.length < n; k++) await scheduler.wait(5);
    return log.splice(0).sort();
  }
  other() {
    return this.env.PROBE.get(this.env.PROBE.idFromName("other of " + this.ctx.id));
  }
}

export class Service extends lending(WorkerEntrypoint) {
  fetch() {
    return new Response("service");
  }
}
