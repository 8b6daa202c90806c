import { getServerByName, routePartykitRequest, Server } from "partyserver";

/** GameRoom counts points by player; it is restarted with them by onStart. */
export class GameRoom extends Server<Env> {
	static options = { hibernate: true };
	points = new Map<string, number>();

	async onStart(): Promise<void> {
		this.points = (await this.ctx.storage.get<Map<string, number>>("points")) ?? this.points;
	}

	async onRequest(request: Request): Promise<Response> {
		const player = new URL(request.url).searchParams.get("player");
		if (request.method === "POST" && player) await this.score(player, Number(await request.text()));
		return Response.json({ room: this.name, points: Object.fromEntries(this.points), connected: [...this.getConnections()].length });
	}

	async score(player: string, points: number): Promise<number> {
		const sum = (this.points.get(player) ?? 0) + points;
		this.points.set(player, sum);
		await this.ctx.storage.put("points", this.points);
		this.broadcast(`${player} has ${sum}`);
		return sum;
	}
}

interface Env {
	GameRoom: DurableObjectNamespace<GameRoom>;
}

export default {
	async fetch(request: Request, env: Env): Promise<Response> {
		const url = new URL(request.url);
		if (url.pathname === "/bonus") {
			const room = await getServerByName(env.GameRoom, url.searchParams.get("room")!);
			return Response.json(await room.score("ann", 100));
		}
		return (
			(await routePartykitRequest(request, env, {
				cors: true,
				onBeforeRequest: (req) => (req.headers.has("x-banned") ? new Response("banned", { status: 403 }) : undefined),
			})) ?? new Response("Not found", { status: 404 })
		);
	},
};
