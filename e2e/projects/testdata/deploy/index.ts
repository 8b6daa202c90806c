import { DurableObject } from "cloudflare:workers";

interface Env {
  VERSION: string;
  TOKEN: string;
  COUNTER: DurableObjectNamespace<Counter>;
}

export class Counter extends DurableObject<Env> {
  #running = false;

  /** Counts, and says which version of the code did. */
  async add(): Promise<[string, number]> {
    const n = ((await this.ctx.storage.get<number>("n")) ?? 0) + 1;
    await this.ctx.storage.put("n", n);
    return [this.env.VERSION, n];
  }

  /** Takes a while. */
  async slow(): Promise<string> {
    this.#running = true;
    await scheduler.wait(500);
    return this.env.VERSION;
  }

  /** Takes too long for a deployment. */
  async endless(): Promise<string> {
    this.#running = true;
    await scheduler.wait(60_000);
    return this.env.VERSION;
  }

  /** Says whether slow or endless has begun. */
  running(): boolean {
    return this.#running;
  }

  count(): Promise<number | undefined> {
    return this.ctx.storage.get<number>("n");
  }
}

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case "/hot":
        return Response.json([env.VERSION, ...(await env.COUNTER.getByName("hot").add())]);
      case "/each":
        return Response.json([env.VERSION, ...(await env.COUNTER.getByName(await request.text()).add())]);
      case "/slow":
        return new Response(env.VERSION + (await env.COUNTER.getByName("slow").slow()) + env.VERSION);
      case "/endless":
        try {
          return new Response(await env.COUNTER.getByName("endless").endless());
        } catch (e) {
          const { message, retryable, durableObjectReset, remote } = e as Record<string, unknown>;
          return Response.json([message, retryable ?? null, durableObjectReset ?? null, remote ?? null]);
        }
      case "/running":
        return Response.json([await env.COUNTER.getByName("slow").running(), await env.COUNTER.getByName("endless").running()]);
      case "/cron":
        return Response.json((await env.COUNTER.getByName("cron").count()) ?? 0);
    }
    return new Response(`${env.VERSION} ${env.TOKEN}`);
  },
  async scheduled(controller, env) {
    controller.noRetry();
    await env.COUNTER.getByName("cron").add();
  },
} satisfies ExportedHandler<Env>;
