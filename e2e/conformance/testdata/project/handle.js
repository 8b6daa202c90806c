// handle answers the requests that are probes themselves. H-2: what is no response. H-3: a promise that nothing settles.
// H-8: a late rejection. H-14: a rejection that nobody handles. H-18: a service that throws is a probe of errors.
export function handle(name, request, env, ctx) {
  switch (name) {
    case "echo":
      return new Response(request.body, { headers: { "x-method": request.method } });
    case "headers":
      return Response.json([...request.headers].filter(([k]) => k.startsWith("x-")));
    case "throw":
      throw new RangeError("in the handler");
    case "undefined":
      return undefined;
    case "text":
      return "text";
    case "hang":
      return new Promise(() => {});
    case "reject":
      Promise.reject(new Error("nobody looks"));
      return new Response("answered");
    case "late":
      ctx.waitUntil(Promise.reject(new Error("late")));
      return new Response("answered");
    case "timer":
      setTimeout(() => {
        throw new Error("in a timer");
      }, 0);
      return scheduler.wait(20).then(() => new Response("answered"));
    case "listener": {
      const t = new EventTarget();
      t.addEventListener("x", () => {
        throw new Error("in a listener");
      });
      return new Response(String(t.dispatchEvent(new Event("x"))));
    }
    case "status":
      return new Response(null, { status: 204 });
    case "cookies":
      return new Response("c", { headers: [["set-cookie", "a=1"], ["set-cookie", "b=2"]] });
    case "json":
      return Response.json({ a: 1 });
    case "url":
      return Response.json([request.url, request.method, request.redirect]);
    case "cf":
      return Response.json([request.cf ?? null, Object.isFrozen(request.cf), Object.isFrozen(request.cf?.a), Object.isFrozen(request.clone().cf)]);
    case "redirect":
      return Response.redirect("http://example.com/", 303);
    case "teapot":
      return new Response("short", { status: 418, statusText: "I'm a teapot" });
    case "length": {
      const { readable, writable } = new FixedLengthStream(2);
      const w = writable.getWriter();
      w.write(new TextEncoder().encode("ab"));
      w.close();
      return new Response(readable);
    }
    case "used": {
      const r = new Response("used");
      return r.text().then(() => r);
    }
    case "overflow": {
      const f = () => f() + 1;
      try {
        f();
      } catch (e) {
        return new Response(String(e));
      }
    }
    case "cut":
      return new Response(
        new ReadableStream({
          pull(c) {
            if (this.sent) throw new Error("cut off");
            this.sent = true;
            c.enqueue(new TextEncoder().encode("part"));
          },
        }),
      );
    case "empty":
      return new Response("");
    case "stream":
      return new Response(new Blob(["a", "b"]).stream());
  }
  return new Response("no such handler", { status: 404 });
}
