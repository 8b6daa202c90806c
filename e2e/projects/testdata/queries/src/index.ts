import { and, asc, count, eq, gt, sql } from "drizzle-orm";
import { integer, QueryBuilder, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";

interface Database {
	person: { id: number; name: string; age: number };
	pet: { id: number; owner: number; kind: "cat" | "dog" };
}

const db = new Kysely<Database>({
	dialect: {
		createAdapter: () => new SqliteAdapter(),
		createDriver: () => new DummyDriver(),
		createIntrospector: (d) => new SqliteIntrospector(d),
		createQueryCompiler: () => new SqliteQueryCompiler(),
	},
});

const person = sqliteTable("person", { id: integer().primaryKey(), name: text().notNull(), age: integer() });
const pet = sqliteTable("pet", { id: integer().primaryKey(), owner: integer().references(() => person.id), kind: text() });

function kysely(kind: string) {
	switch (kind) {
		case "select":
			return db
				.selectFrom("person")
				.innerJoin("pet", "pet.owner", "person.id")
				.where("person.age", ">", 30)
				.where((eb) => eb.or([eb("pet.kind", "=", "cat"), eb("person.name", "like", "a%")]))
				.select(({ fn }) => ["person.name", fn.count<number>("pet.id").as("pets")])
				.groupBy("person.id")
				.orderBy("pets", "desc")
				.limit(3)
				.compile();
		case "insert":
			return db.insertInto("person").values([{ id: 1, name: "ann", age: 31 }]).onConflict((c) => c.column("id").doNothing()).compile();
	}
	return db.schema.createTable("pet").addColumn("id", "integer", (c) => c.primaryKey()).addColumn("kind", "text").compile();
}

function drizzle() {
	return new QueryBuilder()
		.select({ name: person.name, pets: count(pet.id), upper: sql<string>`upper(${person.name})` })
		.from(person)
		.leftJoin(pet, eq(pet.owner, person.id))
		.where(and(gt(person.age, 30), eq(pet.kind, "cat")))
		.groupBy(person.id)
		.orderBy(asc(person.name))
		.toSQL();
}

export default {
	async fetch(request: Request): Promise<Response> {
		const [, library, kind] = new URL(request.url).pathname.split("/");
		if (library === "rows") return Response.json(await db.selectFrom("person").selectAll().execute());
		if (library === "drizzle") return Response.json(drizzle());
		const { sql, parameters } = kysely(kind);
		return Response.json({ sql, parameters });
	},
};
