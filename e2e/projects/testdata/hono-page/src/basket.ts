import { DurableObject } from "cloudflare:workers";

/** Basket holds what one shopper wants to buy. */
export class Basket extends DurableObject {
	add(item: string): Map<string, number> {
		const items = this.items();
		items.set(item, (items.get(item) ?? 0) + 1);
		this.ctx.storage.kv.put("items", items);
		return items;
	}

	items(): Map<string, number> {
		return this.ctx.storage.kv.get<Map<string, number>>("items") ?? new Map();
	}
}
