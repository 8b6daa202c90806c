import { DurableObject } from "cloudflare:workers";

interface Env {
	REPORT: DurableObjectNamespace<Report>;
}

/** Report is begun by a cron job, and worked on by alarms ten minutes apart until it has three pages. */
export class Report extends DurableObject<Env> {
	async begin(cron: string): Promise<void> {
		await this.ctx.storage.put({ cron, pages: 0 });
		await this.ctx.storage.setAlarm(Date.now() + 600_000);
	}

	async alarm(info: AlarmInvocationInfo): Promise<void> {
		if (info.isRetry) await this.ctx.storage.put("retried", info.retryCount);
		const pages = ((await this.ctx.storage.get<number>("pages")) ?? 0) + 1;
		if (pages === 2 && !info.isRetry) throw new Error("paper jam");
		await this.ctx.storage.put("pages", pages);
		if (pages < 3) await this.ctx.storage.setAlarm(Date.now() + 600_000);
	}

	async state(): Promise<Record<string, unknown>> {
		const alarm = await this.ctx.storage.getAlarm();
		return { ...Object.fromEntries(await this.ctx.storage.list()), due: alarm !== null };
	}
}

export default {
	async scheduled(controller: ScheduledController, env: Env, ctx: ExecutionContext): Promise<void> {
		if (controller.cron === "never") {
			controller.noRetry();
			throw new Error("not this one");
		}
		const name = new Date(controller.scheduledTime).getUTCMinutes() === 0 ? "hourly" : "other";
		ctx.waitUntil(env.REPORT.getByName(name).begin(controller.cron));
	},

	async fetch(request: Request, env: Env): Promise<Response> {
		return Response.json(await env.REPORT.getByName(new URL(request.url).pathname.slice(1)).state());
	},
};
