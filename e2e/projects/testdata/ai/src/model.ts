import type { LanguageModelV3, LanguageModelV3Content, LanguageModelV3StreamPart } from "@ai-sdk/provider";

const usage = {
	inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
	outputTokens: { total: 2, text: 2, reasoning: 0 },
};

/** model asks for the weather once, and then repeats what it was told. */
export const model: LanguageModelV3 = {
	specificationVersion: "v3",
	provider: "local",
	modelId: "parrot",
	supportedUrls: {},
	async doGenerate({ prompt }) {
		const last = prompt.at(-1)!;
		if (last.role === "tool" && last.content[0].type === "tool-result") {
			const { output } = last.content[0];
			const content: LanguageModelV3Content[] = [{ type: "text", text: `It is ${JSON.stringify(output)}` }];
			return { content, finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] };
		}
		const content: LanguageModelV3Content[] = [{ type: "tool-call", toolCallId: "1", toolName: "weather", input: '{"city":"Oslo"}' }];
		return { content, finishReason: { unified: "tool-calls", raw: "tool" }, usage, warnings: [] };
	},
	async doStream() {
		const parts: LanguageModelV3StreamPart[] = [
			{ type: "stream-start", warnings: [] },
			{ type: "text-start", id: "0" },
			...["one ", "two ", "three"].map((delta) => ({ type: "text-delta" as const, id: "0", delta })),
			{ type: "text-end", id: "0" },
			{ type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
		];
		return {
			stream: new ReadableStream({
				async pull(controller) {
					await scheduler.wait(2);
					const part = parts.shift();
					part ? controller.enqueue(part) : controller.close();
				},
			}),
		};
	},
};
