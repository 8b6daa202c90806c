import { Hono } from "hono";
import { bearerAuth } from "hono/bearer-auth";
import { cors } from "hono/cors";
import { HTTPException } from "hono/http-exception";
import { streamSSE } from "hono/streaming";

interface Note {
	text: string;
}

const notes = new Hono<{ Bindings: { NOTES: any; TOKEN: string } }>();

notes.get("/", async (c) => {
	const { keys } = await c.env.NOTES.list({ prefix: "note:" });
	return c.json(keys.map((k: { name: string; metadata?: unknown }) => ({ id: k.name.slice(5), metadata: k.metadata })));
});
notes.get("/:id{[a-z]+}", async (c) => {
	const note = await c.env.NOTES.get(`note:${c.req.param("id")}`, "json");
	if (note === null) throw new HTTPException(404, { message: "no such note" });
	return c.json(note as Note);
});
notes.use("*", (c, next) => bearerAuth({ token: c.env.TOKEN })(c, next));
notes.put("/:id{[a-z]+}", async (c) => {
	const note = await c.req.json<Note>();
	await c.env.NOTES.put(`note:${c.req.param("id")}`, JSON.stringify(note), { metadata: { length: note.text.length } });
	return c.body(null, 204);
});
notes.delete("/:id{[a-z]+}", async (c) => {
	await c.env.NOTES.delete(`note:${c.req.param("id")}`);
	return c.body(null, 204);
});

const app = new Hono();
app.use("/notes/*", cors({ origin: "https://app.example" }));
app.route("/notes", notes);
app.get("/events", (c) =>
	streamSSE(c, async (stream) => {
		for (let n = 0; n < 3; n++) await stream.writeSSE({ event: "tick", data: String(n), id: String(n) });
	}),
);
app.post("/form", async (c) => {
	const { name, file } = (await c.req.parseBody()) as { name: string; file?: File };
	return c.text(`${name} ${file ? `${file.name} ${await file.text()}` : "-"}`);
});
app.get("/boom", () => {
	throw new Error("boom");
});
app.onError((err, c) => (err instanceof HTTPException ? err.getResponse() : c.text(`failed: ${err.message}`, 500)));
app.notFound((c) => c.json({ error: `nothing at ${c.req.path}` }, 404));

export default app;
