import { DurableObject } from "cloudflare:workers";

/** Limit bounds what one user posts. */
export class Limit extends DurableObject {
	/** take says whether there was still one of size to take. */
	take(size: number): Promise<boolean> {
		return this.ctx.storage.transaction(async (txn) => {
			const taken = (await txn.get<number>("taken")) ?? 0;
			if (taken >= size) {
				txn.rollback();
				return false;
			}
			await txn.put("taken", taken + 1);
			return true;
		});
	}
}
