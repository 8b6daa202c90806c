import { DurableObject } from "cloudflare:workers";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { z } from "zod";

interface Env {
	SESSIONS: DurableObjectNamespace<Session>;
}

/** Session is an MCP session: its server, its transport, and what its tools remember. */
export class Session extends DurableObject<Env> {
	#transport?: WebStandardStreamableHTTPServerTransport;

	async #connected(): Promise<WebStandardStreamableHTTPServerTransport> {
		if (this.#transport) return this.#transport;
		const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => this.ctx.id.toString() });
		const server = new McpServer({ name: "sessions", version: "1.0.0" });
		server.registerTool("remember", { inputSchema: { fact: z.string() } }, async ({ fact }) => {
			const facts = [...((await this.ctx.storage.get<string[]>("facts")) ?? []), fact];
			await this.ctx.storage.put("facts", facts);
			return { content: [{ type: "text", text: `${facts.length} facts` }] };
		});
		server.registerTool("count", { inputSchema: { to: z.number() } }, async ({ to }, { _meta, sendNotification }) => {
			for (let progress = 1; progress <= to; progress++) {
				await scheduler.wait(5);
				if (_meta?.progressToken !== undefined) {
					await sendNotification({
						method: "notifications/progress",
						params: { progressToken: _meta.progressToken, progress, total: to },
					});
				}
			}
			return { content: [{ type: "text", text: "counted" }] };
		});
		await server.connect(transport);
		return (this.#transport = transport);
	}

	async fetch(request: Request): Promise<Response> {
		return (await this.#connected()).handleRequest(request);
	}
}

export default {
	async fetch(request: Request, env: Env): Promise<Response> {
		const session = request.headers.get("mcp-session-id");
		try {
			const id = session ? env.SESSIONS.idFromString(session) : env.SESSIONS.newUniqueId();
			return await env.SESSIONS.get(id).fetch(request);
		} catch (e) {
			if (session) return new Response("No such session", { status: 404 });
			throw e;
		}
	},
};
