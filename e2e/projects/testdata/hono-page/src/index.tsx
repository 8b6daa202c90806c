import { AsyncLocalStorage } from "node:async_hooks";
import { Basket } from "@/basket";
import { Hono } from "hono";
import { hc } from "hono/client";
import { compress } from "hono/compress";
import { getSignedCookie, setSignedCookie } from "hono/cookie";
import { etag } from "hono/etag";
import { html, raw } from "hono/html";
import { jwt, sign } from "hono/jwt";
import { secureHeaders } from "hono/secure-headers";
import { validator } from "hono/validator";

export { Basket };

interface Bindings {
	SECRET: string;
	BASKETS: DurableObjectNamespace<Basket>;
}

const shopper = new AsyncLocalStorage<string>();

function Items({ items }: { items: Map<string, number> }) {
	return (
		<ul class="items">
			{[...items].map(([name, count]) => (
				<li>
					{name}: {count}
				</li>
			))}
		</ul>
	);
}

const Title = () => <h1>Basket of {shopper.getStore()}</h1>;

const app = new Hono<{ Bindings: Bindings; Variables: { shopper: string } }>();

const typed = app.get(
	"/price",
	validator("query", (value, c) => {
		const count = Number(value.count);
		return Number.isInteger(count) ? { count } : c.text("count is no number", 400);
	}),
	(c) => c.json({ price: c.req.valid("query").count * 2 }),
);

app.use("/basket/*", async (c, next) => {
	const known = await getSignedCookie(c, c.env.SECRET, "shopper");
	if (!known && c.req.method === "GET") return c.text("no basket yet", 404);
	c.set("shopper", known || c.req.query("as")!);
	await setSignedCookie(c, "shopper", c.get("shopper"), c.env.SECRET, { httpOnly: true, maxAge: 1000 });
	return shopper.run(c.get("shopper"), next);
});
app.post("/basket/:item", async (c) => {
	const items = await c.env.BASKETS.getByName(c.get("shopper")).add(c.req.param("item"));
	return c.json(Object.fromEntries(items), 201);
});
app.get("/basket/", secureHeaders(), async (c) => {
	const items = await c.env.BASKETS.getByName(c.get("shopper")).items();
	await new Promise((resolve) => setTimeout(resolve, 1));
	return c.html(
		<body>
			<Title />
			<Items items={items} />
		</body>,
	);
});

app.use("/member", async (c, next) => jwt({ secret: c.env.SECRET, alg: "HS256" })(c, next));
app.get("/member", (c) => c.json(c.get("jwtPayload" as never)));
app.get("/token", async (c) => c.text(await sign({ sub: "ann" }, c.env.SECRET, "HS256")));
app.get("/long", compress(), etag(), (c) => c.text("long ".repeat(1000)));
app.get("/html", (c) => c.html(html`<p>${"<&>"} ${raw("<br>")}</p>`));
app.get("/client", async (c) => {
	const client = hc<typeof typed>("http://shop.example", { fetch: (input: string, init: RequestInit) => app.request(input, init, c.env) });
	return c.json(await (await client.price.$get({ query: { count: "21" } })).json());
});

export default app;
