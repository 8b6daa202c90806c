import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";

class Broke extends Error {
	override name = "Broke";
	code = 402;
	constructor(readonly missing: number) {
		super("not enough money");
	}
}

export class Account extends DurableObject<any> {
	async deposit(amount: number) {
		const balance = ((await this.ctx.storage.get<number>("balance")) ?? 0) + amount;
		await this.ctx.storage.put("balance", balance);
		return balance;
	}
	// charge asks another Worker for the receipt, from within the object.
	async charge(user: string, amount: number) {
		const balance = (await this.ctx.storage.get<number>("balance")) ?? 0;
		if (balance < amount) throw new Broke(amount - balance);
		await this.ctx.storage.put("balance", balance - amount);
		return this.env.RECEIPTS.write(user, amount);
	}
}

export class Accounts extends WorkerEntrypoint<any> {
	alive() {
		return `accounts, called by ${this.ctx.props.caller}`;
	}
	deposit(user: string, amount: number) {
		return this.env.ACCOUNT.getByName(user).deposit(amount);
	}
	charge(user: string, amount: number) {
		return this.env.ACCOUNT.getByName(user).charge(user, amount);
	}
	endless(n: number) {
		return this.env.RECEIPTS.endless(n);
	}
}

export default { fetch: () => new Response("accounts speak RPC") };
