import { DurableObject, RpcTarget } from "cloudflare:workers";

/** Bucket is handed out by a Limit. */
class Bucket extends RpcTarget {
	#storage: DurableObjectStorage;
	#size: number;

	constructor(storage: DurableObjectStorage, size: number) {
		super();
		this.#storage = storage;
		this.#size = size;
	}

	/** take says whether there was still one to take. */
	take(): Promise<boolean> {
		return this.#storage.transaction(async (txn) => {
			const taken = (await txn.get<number>("taken")) ?? 0;
			if (taken >= this.#size) {
				txn.rollback();
				return false;
			}
			await txn.put("taken", taken + 1);
			return true;
		});
	}
}

/** Limit bounds what one user posts. */
export class Limit extends DurableObject {
	bucket(size: number): Bucket {
		return new Bucket(this.ctx.storage, size);
	}
}
