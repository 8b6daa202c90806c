import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { z } from "zod";

/** serverOf returns a server with its tools; a stateless endpoint has one for each request. */
function serverOf(): McpServer {
	const server = new McpServer({ name: "tools", version: "1.0.0" });
	server.registerTool(
		"add",
		{ description: "Adds two numbers", inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
		async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { sum: a + b } }),
	);
	server.registerTool("fail", { description: "Fails" }, async () => {
		throw new Error("no luck");
	});
	server.registerResource("motd", "motd://today", { mimeType: "text/plain" }, async (uri) => ({
		contents: [{ uri: uri.href, text: "be kind" }],
	}));
	server.registerPrompt("greet", { argsSchema: { name: z.string() } }, ({ name }) => ({
		messages: [{ role: "user", content: { type: "text", text: `Greet ${name}` } }],
	}));
	return server;
}

export default {
	async fetch(request: Request): Promise<Response> {
		const url = new URL(request.url);
		if (url.pathname !== "/mcp") return new Response("Not found", { status: 404 });
		const transport = new WebStandardStreamableHTTPServerTransport({
			sessionIdGenerator: undefined,
			enableJsonResponse: url.searchParams.has("json"),
		});
		await serverOf().connect(transport);
		return transport.handleRequest(request);
	},
};
