// The probes of node's modules, which need the flag nodejs_compat.
import { areaNames, runArea } from "./probe.js";
import "./cases/node-buffer.js";
import "./cases/node-crypto.js";
import "./cases/node-events.js";
import "./cases/node-stream.js";
import "./cases/node-text.js";

export * from "./objects.js";
export { Lender, Service } from "./targets.js";

export default {
  async fetch(request, env, ctx) {
    const url = new URL(request.url);
    const [, action, name] = url.pathname.split("/");
    if (action === "areas") return Response.json(areaNames());
    const lines = [];
    for await (const line of runArea(name, url.searchParams.get("run"), request, env, ctx)) lines.push(line);
    return new Response(lines.join("\n") + "\n");
  },
};
