import { initTRPC, TRPCError } from "@trpc/server";
import { z } from "zod";

export interface Context {
	user: string | null;
}

const t = initTRPC.context<Context>().create();

const signedIn = t.middleware(({ ctx, next }) => {
	if (ctx.user === null) throw new TRPCError({ code: "UNAUTHORIZED", message: "sign in first" });
	return next({ ctx: { user: ctx.user } });
});

const bookings = new Map<string, string>();

export const appRouter = t.router({
	hello: t.procedure.input(z.object({ name: z.string().min(1) })).query(({ input }) => `hello ${input.name}`),
	room: t.router({
		book: t.procedure
			.use(signedIn)
			.input(z.object({ room: z.string() }))
			.mutation(({ ctx, input }) => {
				bookings.set(input.room, ctx.user);
				return { room: input.room, by: ctx.user };
			}),
		by: t.procedure.input(z.string()).query(async ({ input }) => bookings.get(input) ?? null),
	}),
	ticks: t.procedure.subscription(async function* () {
		for (let n = 0; n < 2; n++) yield n;
	}),
});

export type AppRouter = typeof appRouter;
