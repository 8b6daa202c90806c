import { Cause, Context, Data, Duration, Effect, Exit, Layer, Schedule, Schema, Stream } from "effect";

class OutOfStock extends Data.TaggedError("OutOfStock")<{ sku: string }> {}

class Stock extends Context.Service<Stock, { take(sku: string): Effect.Effect<number, OutOfStock> }>()("Stock") {}

const StockLive = Layer.effect(
	Stock,
	Effect.sync(() => {
		const left = new Map([["pen", 2]]);
		return {
			take: (sku: string) =>
				Effect.gen(function* () {
					const n = left.get(sku) ?? 0;
					if (n === 0) return yield* new OutOfStock({ sku });
					left.set(sku, n - 1);
					return n - 1;
				}),
		};
	}),
);

const Purchase = Schema.Struct({ sku: Schema.NonEmptyString, count: Schema.NumberFromString });

const buy = (input: unknown) =>
	Effect.gen(function* () {
		const { sku, count } = yield* Schema.decodeUnknownEffect(Purchase)(input);
		const stock = yield* Stock;
		const left = yield* Effect.all(Array.from({ length: count }, () => stock.take(sku)));
		return { sku, left: left.at(-1) };
	}).pipe(
		Effect.map((body) => Response.json(body)),
		Effect.catchTag("OutOfStock", (e) => Effect.succeed(Response.json({ error: `${e.sku} is out of stock` }, { status: 409 }))),
		Effect.catchTag("SchemaError", (e) => Effect.succeed(new Response(e.message, { status: 422 }))),
	);

/** flaky fails twice before it succeeds. */
function flaky() {
	let tries = 0;
	return Effect.tryPromise({
		try: async () => {
			if (++tries < 3) throw new Error("not yet");
			return `after ${tries} tries`;
		},
		catch: (e) => e as Error,
	}).pipe(Effect.retry({ schedule: Schedule.exponential("5 millis"), times: 4 }));
}

/** released tells in what order fibers were interrupted and resources released. */
const released = Effect.gen(function* () {
	const log: string[] = [];
	const resource = (name: string) => Effect.acquireRelease(Effect.succeed(name), () => Effect.sync(() => void log.push(name)));
	yield* Effect.scoped(Effect.all([resource("a"), resource("b")]));
	const winner = yield* Effect.race(
		Effect.sleep("10 millis").pipe(Effect.as("fast")),
		Effect.sleep("1 minute").pipe(Effect.onInterrupt(() => Effect.sync(() => void log.push("interrupted")))),
	);
	return [...log, winner];
});

export default {
	async fetch(request: Request): Promise<Response> {
		const url = new URL(request.url);
		switch (url.pathname) {
			case "/buy":
				return Effect.runPromise(buy(await request.json()).pipe(Effect.provide(StockLive)));
			case "/flaky":
				return new Response(await Effect.runPromise(flaky()));
			case "/released":
				return Response.json(await Effect.runPromise(released));
			case "/stream": {
				const lines = Stream.range(1, 4).pipe(
					Stream.mapEffect((n) => Effect.succeed(n * n).pipe(Effect.delay(Duration.millis(5 - n))), { concurrency: 4 }),
					Stream.map((n) => `${n}\n`),
					Stream.encodeText,
				);
				return new Response(Stream.toReadableStream(lines));
			}
		}
		const exit = await Effect.runPromiseExit(Effect.die(new Error("defect")));
		return new Response(Exit.isFailure(exit) ? Cause.pretty(exit.cause).split("\n")[0] : "none", { status: 500 });
	},
};
