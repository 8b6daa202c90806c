package jsclass_test

import "testing"

// Modules of Node.js are there as the compatibility date says.
func TestNodeModules(t *testing.T) {
	t.Parallel()
	bubbleAt(t, "2026-08-20", `
		import { DurableObject } from "cloudflare:workers";
		import { Buffer } from "node:buffer";
		import { AsyncLocalStorage } from "node:async_hooks";
		const storage = new AsyncLocalStorage();
		export class Probe extends DurableObject {
			async node() {
				return [Buffer.from("abc").toString("base64"), await storage.run(5, async () => {
					await this.ctx.storage.get("x");
					await new Promise((r) => setTimeout(r, 1));
					return storage.getStore();
				})];
			}
		}
		export default {};
	`, []string{"Probe"}, func(w *world) {
		w.want("Probe", "node", `["YWJj", 5]`)
	})
}
