// What only computes: the engine's own speed.

export function fib(n: number): number {
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/** Sorts n numbers with a comparison, and returns the greatest. */
export function sorted(n: number): number {
	const numbers: number[] = [];
	for (let seed = 1; numbers.length < n; numbers.push(seed)) seed = (seed * 48271) % 2147483647;
	numbers.sort((a, b) => a - b);
	return numbers[n - 1];
}

/** Writes and reads about so many bytes of JSON, and returns how many there were. */
export function roundTrip(bytes: number): number {
	const rows = [];
	for (let id = 0; id < bytes / 50; id++) rows.push({ id, name: `row ${id}`, even: id % 2 === 0, part: id / 7 });
	const text = JSON.stringify(rows);
	return JSON.parse(text).length === rows.length ? text.length : -1;
}

const log = /^(\S+) - \[([^\]]+)\] "(GET|POST) ([^" ]+)" (\d{3})$/gm;

/** Matches so many lines of a log, and returns how many did. */
export function matches(lines: number): number {
	let text = "";
	for (let n = 0; n < lines; n++) text += `10.0.0.${n % 256} - [2026-04-01T10:00:00Z] "GET /path/${n}" 200\n`;
	return [...text.matchAll(log)].length;
}
