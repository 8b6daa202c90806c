// handle answers the requests that are probes themselves.
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
    case "stream":
      return new Response(new Blob(["a", "b"]).stream());
  }
  return new Response("no such handler", { status: 404 });
}
