import { WorkerEntrypoint } from "cloudflare:workers";

// Receipts is what accounts calls back.
export class Receipts extends WorkerEntrypoint<any> {
	write(user: string, amount: number) {
		return `${this.ctx.props.prefix}${user} pays ${amount}`;
	}
	endless(n: number): Promise<number> {
		return this.env.ACCOUNTS.endless(n + 1);
	}
}

const caught = async (f: () => Promise<unknown>) => {
	try {
		return await f();
	} catch (e: any) {
		return [e.name, e.message, e.remote ?? false, e.code, e.missing];
	}
};

async function order(env: any, user: string, item: string) {
	const price = await env.SHELF.getByName(item).price();
	const receipt = await env.ACCOUNTS.charge(user, price);
	const left = await env.SHELF.getByName(item).take();
	return { receipt, left };
}

export default {
	async fetch(request: Request, env: any): Promise<Response> {
		const url = new URL(request.url);
		const user = url.searchParams.get("user") ?? "ann";
		switch (url.pathname) {
			case "/order":
				return Response.json(await caught(() => order(env, user, url.searchParams.get("item") ?? "tea")));
			case "/deposit":
				return Response.json(await env.ACCOUNTS.deposit(user, 10));
			case "/count": // bytes flow to stock and back while both go on
				return env.STOCK.fetch("http://stock/count", { method: "PUT", body: request.body });
			case "/nobody":
				return Response.json(await caught(() => env.NOBODY.charge()));
			case "/endless":
				return Response.json([
					await caught(() => env.ACCOUNTS.endless(0)),
					await caught(() => env.SHELF.getByName("tea").endless(0)),
					await caught(() => env.SHELF.getByName("tea").around(0)),
				]);
			case "/patient":
				return Response.json(await caught(() => env.STOCK.fetch("http://stock/", { signal: AbortSignal.timeout(300) })));
			case "/accounts":
				return Response.json(await env.ACCOUNTS.alive());
		}
		return env.STOCK.fetch(request);
	},
};
