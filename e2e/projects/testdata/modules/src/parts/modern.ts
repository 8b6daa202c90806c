/** log wraps a method. */
function log<This, Args extends unknown[], R>(method: (this: This, ...args: Args) => R, context: ClassMethodDecoratorContext) {
	return function (this: This, ...args: Args): R {
		calls.push(String(context.name));
		return method.apply(this, args);
	};
}

export const calls: string[] = [];

export class Meter {
	static #made = 0;
	accessor unit = "m";
	readonly #n: number;
	static {
		calls.push("static");
	}

	constructor(n: number) {
		this.#n = n;
		Meter.#made++;
	}

	@log
	read(): string {
		return `${this.#n}${this.unit}`;
	}

	[Symbol.dispose](): void {
		calls.push("disposed");
	}

	static is(v: object): boolean {
		return #n in v;
	}
}

export async function* numbers(to: number) {
	for (let n = 0; n < to; n++) {
		await null;
		yield n;
	}
}
