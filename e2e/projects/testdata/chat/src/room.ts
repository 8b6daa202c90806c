interface Message {
	n: number;
	user: string;
	text: string;
	at: Date;
}

const pad = (n: number) => `message:${String(n).padStart(8, "0")}`;

/** Room keeps messages, and streams them. It is a class of the older kind, without a base class. */
export class Room implements DurableObject {
	#last = 0;
	#listeners = new Set<WritableStreamDefaultWriter<Uint8Array>>();

	constructor(private state: DurableObjectState) {
		state.blockConcurrencyWhile(async () => {
			const newest = await state.storage.list<Message>({ prefix: "message:", reverse: true, limit: 1 });
			for (const message of newest.values()) this.#last = message.n;
		});
	}

	async fetch(request: Request): Promise<Response> {
		const url = new URL(request.url);
		switch (`${request.method} ${url.pathname}`) {
			case "POST /messages":
				return this.post(request);
			case "GET /messages":
				return this.read(Number(url.searchParams.get("after") ?? 0));
			case "GET /stream":
				return this.stream(Number(url.searchParams.get("count") ?? 1));
			case "GET /live":
				return this.live();
			case "GET /listeners":
				return new Response(String(this.#listeners.size));
			case "DELETE /messages":
				await this.state.storage.deleteAll();
				this.#last = 0;
				return new Response(null, { status: 204 });
		}
		return new Response("Not found", { status: 404 });
	}

	async post(request: Request): Promise<Response> {
		const text = await request.text();
		if (!text) return Response.json({ error: "empty" }, { status: 400 });
		const message: Message = { n: ++this.#last, user: request.headers.get("x-user") ?? "anonymous", text, at: new Date(0) };
		await this.state.storage.put(pad(message.n), message);
		const line = new TextEncoder().encode(`data: ${message.user}: ${text}\n\n`);
		for (const listener of this.#listeners) listener.write(line).catch(() => this.#listeners.delete(listener));
		return Response.json({ n: message.n }, { status: 201 });
	}

	async read(after: number): Promise<Response> {
		const page = await this.state.storage.list<Message>({ start: pad(after + 1), end: "message;", limit: 2 });
		return Response.json([...page.values()]);
	}

	/** live sends messages as they are posted, to whoever stays. */
	live(): Response {
		const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
		const writer = writable.getWriter();
		this.#listeners.add(writer);
		writer.closed.catch(() => this.#listeners.delete(writer));
		writer.write(new TextEncoder().encode(": welcome\n\n")).catch(() => {});
		return new Response(readable, { headers: { "content-type": "text/event-stream" } });
	}

	/** stream streams the count newest messages, as they are stored. */
	stream(count: number): Response {
		const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
		const writer = writable.getWriter();
		const send = async () => {
			const page = await this.state.storage.list<Message>({ prefix: "message:", reverse: true, limit: count });
			for (const m of page.values()) await writer.write(new TextEncoder().encode(`${m.user}: ${m.text}\n`));
			await writer.close();
		};
		this.state.waitUntil(send());
		return new Response(readable, { headers: { "content-type": "text/plain" } });
	}
}
