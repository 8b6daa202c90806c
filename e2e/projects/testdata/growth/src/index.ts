import { DurableObject } from "cloudflare:workers";
import { Hono } from "hono";

// A little of everything that a Worker does, for tests of what is left behind.

export class Room extends DurableObject {
	visits = 0;

	visit() {
		return ++this.visits;
	}

	/** keep counts on disk. */
	async keep() {
		const n = ((await this.ctx.storage.get<number>("n")) ?? 0) + 1;
		await this.ctx.storage.put("n", n);
		return n;
	}

	fail() {
		throw new RangeError("the room is full");
	}

	async fetch(request: Request) {
		const text = await request.text();
		return new Response(new Blob([text, " in ", this.ctx.id.toString()]).stream());
	}
}

const app = new Hono<{ Bindings: { NOTES: any; ROOMS: any } }>();
app.use("*", async (c, next) => {
	await next();
	c.header("X-Seen", c.req.path);
});
app.get("/", (c) => c.text("hello"));
app.get("/json/:id{[0-9]+}", (c) => c.json({ id: Number(c.req.param("id")), tags: ["a", "b"], done: false }));
app.get("/visit/:room", async (c) => c.json(await c.env.ROOMS.getByName(c.req.param("room")).visit()));
app.get("/keep/:room", async (c) => c.json(await c.env.ROOMS.getByName(c.req.param("room")).keep()));
app.get("/room-error/:room", async (c) => c.json(await c.env.ROOMS.getByName(c.req.param("room")).fail()));
app.post("/room/:room", (c) => c.env.ROOMS.getByName(c.req.param("room")).fetch(c.req.raw));
app.post("/note/:id", async (c) => {
	await c.env.NOTES.put(c.req.param("id"), await c.req.text(), { metadata: { at: 1 } });
	return c.body(null, 204);
});
app.get("/note/:id", async (c) => c.text((await c.env.NOTES.get(c.req.param("id"))) ?? "none"));
app.get("/slow", async (c) => {
	c.executionCtx.waitUntil(scheduler.wait(40));
	await scheduler.wait(20);
	return c.text("late");
});
app.get("/endless", (c) => {
	const bytes = new Uint8Array(1024);
	return c.body(
		new ReadableStream({
			async pull(controller) {
				await scheduler.wait(1);
				controller.enqueue(bytes);
			},
		}),
	);
});
app.get("/error", () => {
	throw new Error("boom");
});

export default app;
