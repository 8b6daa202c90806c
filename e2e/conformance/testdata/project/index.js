// The probe project: GET /areas lists the areas, GET /run/AREA?run=NAME prints the lines of one, and everything under
// /handle/ is for requests that are probes themselves.
import { areaNames, runArea } from "./probe.js";
import { handle } from "./handle.js";
import "./cases/alarms.js";
import "./cases/crypto.js";
import "./cases/fetch.js";
import "./cases/forms.js";
import "./cases/gates.js";
import "./cases/ids.js";
import "./cases/platform.js";
import "./cases/rpc.js";
import "./cases/storage.js";
import "./cases/stubs.js";
import "./cases/targets.js";
import "./cases/streams.js";
import "./cases/surface.js";
import "./cases/transactions.js";

export * from "./objects.js";
export { Lender, Service } from "./targets.js";

export default {
  async fetch(request, env, ctx) {
    const url = new URL(request.url);
    const [, action, name] = url.pathname.split("/");
    if (action === "areas") return Response.json(areaNames());
    if (action === "handle") return handle(name, request, env, ctx);
    const lines = [];
    for await (const line of runArea(name, url.searchParams.get("run"), request, env, ctx)) lines.push(line);
    return new Response(lines.join("\n") + "\n");
  },
};
