import { addBusinessDays, differenceInCalendarDays, format, formatDistance, parseISO } from "date-fns";
import { de } from "date-fns/locale";
import { chunk, cloneDeep, debounce, groupBy, isEqual, merge, orderBy, template } from "lodash-es";
import { customAlphabet, nanoid } from "nanoid";
import superjson from "superjson";
import { Toucan } from "toucan-js";
import { z } from "zod/v3";

/** answers are by path. */
const answers: Record<string, (request: Request, ctx: ExecutionContext) => unknown> = {
	dates() {
		const day = parseISO("2026-02-27T12:00:00Z");
		return [
			format(day, "EEEE, d MMMM yyyy"),
			format(day, "PPPP", { locale: de }),
			formatDistance(day, parseISO("2026-04-01T00:00:00Z"), { addSuffix: true }),
			differenceInCalendarDays(addBusinessDays(day, 3), day),
		];
	},
	async lodash() {
		let calls = 0;
		const call = debounce(() => ++calls, 5);
		call();
		call();
		while (calls === 0) await new Promise((resolve) => setTimeout(resolve, 30));
		const people = [{ name: "a", age: 3 }, { name: "b", age: 1 }, { name: "c", age: 3 }];
		const copy = cloneDeep({ d: new Date(7), m: new Map([[1, new Set([2])]]), r: /x/g, u: new Uint8Array([1, 2]) });
		return [
			calls,
			Object.keys(groupBy(people, "age")),
			orderBy(people, ["age", "name"], ["asc", "desc"]).map((p) => p.name),
			chunk([1, 2, 3], 2),
			merge({ a: { b: 1 } }, { a: { c: [2] } }),
			isEqual(copy, { d: new Date(7), m: new Map([[1, new Set([2])]]), r: /x/g, u: new Uint8Array([1, 2]) }),
		];
	},
	template() {
		return template("hello <%= name %>")({ name: "ann" });
	},
	ids() {
		return [/^[\w-]{21}$/.test(nanoid()), customAlphabet("ab", 9)().replace(/[ab]/g, "").length];
	},
	superjson() {
		const value = { at: new Date(0), ids: new Set([1n]), by: new Map([["a", undefined]]), re: /a/gi, url: new URL("https://a.example/b"), n: NaN };
		const text = superjson.stringify(value);
		const back = superjson.parse<typeof value>(text);
		return [text.length > 100, back.at.getTime(), [...back.ids].map(String), back.by.has("a"), back.re.flags, back.url.pathname, back.n !== back.n];
	},
	zod() {
		const form = z.object({
			email: z.string().email(),
			mood: z.string().emoji(),
			when: z.coerce.date(),
			tags: z.array(z.string()).nonempty().transform((t) => new Set(t)),
		});
		const good = form.parse({ email: "a@b.example", mood: "🙂", when: "2026-01-02", tags: ["x", "x"] });
		const bad = form.safeParse({ email: "a", mood: "sad", when: "?", tags: [] });
		return [good.tags.size, good.when.toISOString(), bad.error?.issues.map((i) => i.message)];
	},
	async toucan(request, ctx) {
		const sent: string[] = [];
		const sentry = new Toucan({
			dsn: "https://key@sentry.example/1",
			context: ctx,
			request,
			transportOptions: {
				fetcher: (async (_url: string, init: RequestInit) => {
					sent.push(String(init.body));
					return new Response("{}");
				}) as typeof fetch,
			},
		});
		try {
			throw new TypeError("odd");
		} catch (e) {
			sentry.captureException(e);
		}
		while (sent.length === 0) await scheduler.wait(10);
		const event = JSON.parse(sent[0].split("\n")[2]);
		return [event.exception.values[0].type, event.exception.values[0].value, event.exception.values[0].stacktrace.frames.length > 0, event.request.method];
	},
};

export default {
	async fetch(request: Request, _env: unknown, ctx: ExecutionContext): Promise<Response> {
		const answer = answers[new URL(request.url).pathname.slice(1)];
		return answer ? Response.json(await answer(request, ctx)) : new Response("Not found", { status: 404 });
	},
};
