import type { Limit } from "./limit";

export { Limit } from "./limit";

interface Env {
	LIMITS: DurableObjectNamespace<Limit>;
}

export default {
	async fetch(request: Request, env: Env): Promise<Response> {
		const limit = env.LIMITS.getByName("all");
		if (new URL(request.url).pathname === "/pipelined") return Response.json(await limit.bucket(4).take());
		using bucket = await limit.bucket(2);
		return Response.json([await bucket.take(), await bucket.take(), await bucket.take()]);
	},
};
