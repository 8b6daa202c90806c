import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { model } from "./model";

const weather = tool({
	description: "The weather of a city",
	inputSchema: z.object({ city: z.string() }),
	execute: async ({ city }) => ({ city, degrees: 7 }),
});

export default {
	async fetch(request: Request): Promise<Response> {
		switch (new URL(request.url).pathname) {
			case "/generate": {
				const { text, steps, totalUsage } = await generateText({
					model,
					tools: { weather },
					stopWhen: stepCountIs(3),
					prompt: "How is the weather?",
				});
				return Response.json({ text, steps: steps.length, tokens: totalUsage.totalTokens });
			}
			case "/stream":
				return streamText({ model, prompt: "count" }).toTextStreamResponse();
			case "/ui":
				return streamText({ model, prompt: "count" }).toUIMessageStreamResponse();
		}
		return new Response("Not found", { status: 404 });
	},
};
