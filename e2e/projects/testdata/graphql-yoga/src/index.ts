import { GraphQLError } from "graphql";
import { createSchema, createYoga } from "graphql-yoga";

interface Env {
	SHELF: string;
}

const books = [
	{ id: "1", title: "Emma", year: 1815 },
	{ id: "2", title: "Persuasion", year: 1817 },
];

const schema = createSchema<Env>({
	typeDefs: /* GraphQL */ `
		type Book {
			id: ID!
			title: String!
			year: Int!
			shelf: String
		}
		type Query {
			book(id: ID!): Book
			books(after: Int = 0): [Book!]!
		}
		type Mutation {
			add(title: String!, year: Int!): Book!
		}
		type Subscription {
			count(to: Int!): Int!
		}
	`,
	resolvers: {
		Book: { shelf: (_book, _args, env) => env.SHELF ?? "none" },
		Query: {
			book(_root, { id }) {
				const book = books.find((b) => b.id === id);
				if (!book) throw new GraphQLError(`no book ${id}`, { extensions: { code: "NOT_FOUND" } });
				return book;
			},
			books: async (_root, { after }) => books.filter((b) => b.year > after),
		},
		Mutation: {
			add(_root, { title, year }) {
				const book = { id: String(books.length + 1), title, year };
				books.push(book);
				return book;
			},
		},
		Subscription: {
			count: {
				async *subscribe(_root, { to }) {
					for (let n = 1; n <= to; n++) yield { count: n };
				},
			},
		},
	},
});

const yoga = createYoga<Env>({ schema, graphqlEndpoint: "/graphql", logging: false });

export default { fetch: yoga.fetch };
