// handle answers the requests that are probes themselves.
export function handle(name, request, env, ctx) {
  switch (name) {
    case "echo":
      return new Response(request.body, { headers: { "x-method": request.method } });
  }
  return new Response("no such handler", { status: 404 });
}
