import { Limit } from "./limit";
import { Room } from "./room";

export { Limit, Room };

interface Env {
	ROOMS: DurableObjectNamespace<Room>;
	LIMITS: DurableObjectNamespace<Limit>;
}

// GET and POST /rooms/NAME/messages, GET /rooms/NAME/stream, POST /rooms (a room without a name).
export default {
	async fetch(request: Request, env: Env): Promise<Response> {
		const url = new URL(request.url);
		const [, top, name, rest] = url.pathname.split("/");
		if (top !== "rooms") return new Response("Not found", { status: 404 });
		if (!name) {
			if (request.method !== "POST") return new Response("Method not allowed", { status: 405 });
			return new Response(env.ROOMS.newUniqueId().toString());
		}
		if (name.length > 64) return new Response("Name too long", { status: 404 });
		const user = request.headers.get("x-user") ?? "anonymous";
		if (request.method === "POST" && !(await env.LIMITS.getByName(user).take(3))) {
			return new Response("Slow down", { status: 429 });
		}
		const id = /^[0-9a-f]{64}$/.test(name) ? env.ROOMS.idFromString(name) : env.ROOMS.idFromName(name);
		const target = new URL(`/${rest ?? ""}${url.search}`, url);
		return env.ROOMS.get(id).fetch(new Request(target, request));
	},
};
