import { z } from "zod";

const Order = z
	.object({
		id: z.uuid(),
		email: z.email(),
		state: z.enum(["open", "paid"]).default("open"),
		lines: z.array(z.object({ sku: z.string().regex(/^[A-Z]{2}-\d+$/), count: z.int().positive() })).min(1),
		due: z.iso.date().optional(),
		payment: z.discriminatedUnion("kind", [
			z.object({ kind: z.literal("card"), last4: z.string().length(4) }),
			z.object({ kind: z.literal("invoice"), address: z.string() }),
		]),
	})
	.transform((o) => ({ ...o, total: o.lines.reduce((sum, l) => sum + l.count, 0) }));

const Mood = z.emoji();

async function order(request: Request): Promise<Response> {
	const parsed = await Order.safeParseAsync(await request.json());
	if (parsed.success) return Response.json(parsed.data, { status: 201 });
	return Response.json(parsed.error.issues.map((i) => `${i.path.join(".")}: ${i.message}`), { status: 422 });
}

export default {
	async fetch(request): Promise<Response> {
		switch (new URL(request.url).pathname) {
			case "/orders":
				return order(request);
			case "/schema":
				return Response.json(z.toJSONSchema(z.object({ name: z.string().max(8), tags: z.set(z.string()).optional() }), { unrepresentable: "any" }));
			case "/mood":
				return Response.json(Mood.safeParse(await request.text()).success);
			case "/throw":
				return Response.json(z.string().parse(7));
		}
		return new Response(null, { status: 404 });
	},
} satisfies ExportedHandler;
