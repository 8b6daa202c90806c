import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";

export class Shelf extends DurableObject<any> {
	#calls = 0;
	async price() {
		this.#calls++;
		// The object's own Worker, by a service binding.
		return Number(await (await this.env.SELF.fetch("http://self/price")).text());
	}
	async take() {
		this.#calls++;
		const left = ((await this.ctx.storage.get<number>("left")) ?? 100) - 1;
		await this.ctx.storage.put("left", left);
		return left;
	}
	// endless calls itself, by a stub of its own object.
	endless(n: number): Promise<number> {
		return this.ctx.exports.Shelf.getByName("tea").endless(n + 1);
	}
	// around is endless by way of a Worker.
	around(n: number): Promise<number> {
		return this.ctx.exports.Rounds({ props: { by: "shelf" } }).around(n + 1);
	}
	// calls are those of this instance.
	calls() {
		return this.#calls;
	}
}

export class Rounds extends WorkerEntrypoint<any> {
	around(n: number) {
		return this.ctx.props.by === "shelf" ? this.env.SHELF.getByName("tea").around(n + 1) : n;
	}
}

export default {
	async fetch(request: Request, env: any): Promise<Response> {
		const { pathname } = new URL(request.url);
		if (pathname === "/price") return new Response("3");
		if (pathname === "/calls") return Response.json(await env.SHELF.getByName("tea").calls());
		if (pathname === "/count") {
			let bytes = 0;
			const count = new TransformStream<Uint8Array, Uint8Array>({
				transform(chunk, c) {
					bytes += chunk.byteLength;
					c.enqueue(new TextEncoder().encode(`${bytes} `));
				},
			});
			return new Response(request.body!.pipeThrough(count));
		}
		return new Response("stock: " + request.method + " " + pathname);
	},
};
