import { Hono } from "hono";
import { html } from "hono/html";

import { fib, matches, roundTrip, sorted } from "./work";

interface Note {
	id: number;
	title: string;
	tags: string[];
	done: boolean;
}

const notes: Note[] = Array.from({ length: 20 }, (_, id) => ({
	id,
	title: `Note number ${id}`,
	tags: ["work", `tag${id % 3}`],
	done: id % 2 === 0,
}));

const app = new Hono();
app.use("/api/*", async (c, next) => {
	await next();
	c.header("X-Notes", String(notes.length));
});
app.get("/api/notes", (c) => c.json(notes));
app.get("/api/notes/:id{[0-9]+}", (c) => {
	const note = notes[Number(c.req.param("id"))];
	return note ? c.json(note) : c.json({ error: "no such note" }, 404);
});

// What computes answers a number, so that the load program can check it.
app.get("/fib/:n", (c) => c.text(String(fib(Number(c.req.param("n"))))));
app.get("/sort/:n", (c) => c.text(String(sorted(Number(c.req.param("n"))))));
app.get("/json/:bytes", (c) => c.text(String(roundTrip(Number(c.req.param("bytes"))))));
app.get("/regexp/:lines", (c) => c.text(String(matches(Number(c.req.param("lines"))))));
app.get("/digest/:bytes", async (c) => {
	const digest = await crypto.subtle.digest("SHA-256", new Uint8Array(Number(c.req.param("bytes"))));
	return c.text(String(digest.byteLength));
});
app.get("/page/:rows", (c) => {
	const rows = Array.from({ length: Number(c.req.param("rows")) }, (_, n) => n);
	const page = html`<table>${rows.map((n) => html`<tr><td>${n}</td><td>${"<name> & " + n}</td></tr>`)}</table>`;
	return c.text(String(String(page).length));
});
app.get("/wait/:ms", async (c) => {
	await scheduler.wait(Number(c.req.param("ms")));
	return c.text("1");
});
app.get("/", (c) => c.text("1"));

export default app;
