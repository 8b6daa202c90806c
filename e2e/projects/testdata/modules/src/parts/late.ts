export const loaded = "late";
