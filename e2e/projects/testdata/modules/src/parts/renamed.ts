export enum Level {
	Low = 1,
	High = Low << 2,
}
export namespace Names {
	export const all = ["x"];
}
export default "renamed";
