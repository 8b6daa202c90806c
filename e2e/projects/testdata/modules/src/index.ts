import { Buffer } from "node:buffer";
import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import path from "node:path";
import { format, promisify } from "node:util";
import { env as ambient, waitUntil } from "cloudflare:workers";
import renamed, { Level, Names } from "old-name";
import bytes from "./bytes.bin";
import data from "./data.json";
import greeting from "./greeting.txt";
import other from "./other.raw";
import page from "./page.html";
import { calls, Meter, numbers } from "~/modern";
import { emitter, kind } from "./parts/old.cjs";

declare const BUILD: string;

interface Env {
	PLACE: string;
	LIMITS: { items: number; names: string[] };
	SECRET: string;
}

const settled = await Promise.resolve("awaited at the top");
let kept = 0;

const answers: Record<string, (env: Env, request: Request, ctx: ExecutionContext) => unknown> = {
	files: () => [greeting, page, [...new Uint8Array(bytes)], [...new Uint8Array(other)], data.version],
	config: (env) => [BUILD, renamed, Level.High, Names.all, env.PLACE, env.LIMITS, ambient.SECRET === env.SECRET, process.env.SECRET, settled],
	async modern() {
		calls.length = 1;
		{
			using meter = new Meter(3);
			meter.unit = "km";
			calls.push(meter.read(), String(Meter.is({})));
		}
		const seen: number[] = [];
		for await (const n of numbers(3)) seen.push(n);
		return [calls, seen, 2n ** 70n > 1e21, Object.groupBy([1, 2, 3], (n) => (n % 2 ? "odd" : "even"))];
	},
	async node() {
		const once = new Promise((resolve) => emitter.once("news", resolve));
		emitter.emit("news", "heard");
		return [
			await once,
			kind,
			createHash("sha256").update("a").digest("hex").slice(0, 8),
			Buffer.from("hé").toString("base64"),
			path.join("/a", "../b", "c.txt"),
			format("%s is %d", "x", 3),
			randomUUID().length,
			timingSafeEqual(Buffer.from("a"), Buffer.from("a")),
			await promisify((n: number, done: (e: Error | null, v: number) => void) => done(null, n + 1))(1),
		];
	},
	late: async () => (await import("./parts/late")).loaded,
	async web(_env, request) {
		const signal = AbortSignal.timeout(5);
		const aborted = await new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason.name)));
		const zipped = new Response("x".repeat(1000)).body!.pipeThrough(new CompressionStream("gzip"));
		const text = await new Response(zipped.pipeThrough(new DecompressionStream("gzip"))).text();
		const copy = structuredClone({ m: new Map([["k", [new Date(5)]]]) });
		return [
			aborted,
			text.length,
			copy.m.get("k")![0].getTime(),
			new URLPattern({ pathname: "/:a/:b" }).exec("https://x.example/one/two")?.pathname.groups,
			request.cf?.country === undefined || typeof request.cf.country === "string",
			btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.digest("SHA-1", new TextEncoder().encode("a"))))),
			Response.redirect("https://a.example/", 303).headers.get("location"),
			new Intl.NumberFormat("en", { style: "currency", currency: "EUR" }).format(1234.5),
		];
	},
	keep(_env, _request, ctx) {
		ctx.waitUntil(scheduler.wait(1).then(() => void kept++));
		waitUntil(scheduler.wait(1).then(() => void kept++));
		return "later";
	},
	kept: async () => {
		for (let n = 0; kept < 2 && n < 500; n++) await scheduler.wait(20);
		return kept;
	},
};

export default {
	async fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
		const answer = answers[new URL(request.url).pathname.slice(1)];
		return answer ? Response.json(await answer(env, request, ctx)) : new Response("Not found", { status: 404 });
	},
} satisfies ExportedHandler<Env>;
