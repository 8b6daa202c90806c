import { DurableObject } from "cloudflare:workers";

interface Env {
	COUNTER: any;
	GREETING: string;
	TOKEN: string;
}

export class Counter extends DurableObject<Env> {
	/** increment adds to the count, and returns it. */
	async increment(by: number): Promise<number> {
		const n = ((await this.ctx.storage.get<number>("n")) ?? 0) + by;
		await this.ctx.storage.put("n", n);
		return n;
	}

	/** later has the alarm add ten. */
	async later(): Promise<void> {
		await this.ctx.storage.setAlarm(Date.now() + 50);
	}

	async alarm(): Promise<void> {
		await this.increment(10);
	}

	async fetch(request: Request): Promise<Response> {
		return new Response(`${this.env.GREETING} ${this.ctx.id.name}: ${await request.text()}`);
	}
}

export default {
	async fetch(request: Request, env: Env): Promise<Response> {
		const url = new URL(request.url);
		const stub = env.COUNTER.getByName(url.searchParams.get("name") ?? "visits");
		switch (url.pathname) {
			case "/increment":
				return Response.json({ n: await stub.increment(Number(url.searchParams.get("by") ?? 1)) });
			case "/later":
				await stub.later();
				return new Response(null, { status: 202 });
			case "/throw":
				throw new Error("my boom");
			case "/token":
				return new Response(env.TOKEN);
		}
		return stub.fetch(request);
	},
};
