import { AutoRouter, error, StatusError, withContent } from "itty-router";

const todos = [{ id: 1, title: "write" }];

const router = AutoRouter({
	base: "/api",
	finally: [(response) => void response.headers.set("x-served-by", "itty")],
});

router
	.get("/todos", () => todos)
	.get("/todos/:id", ({ id }) => todos.find((t) => t.id === Number(id)) ?? error(404, `no todo ${id}`))
	.post("/echo", withContent, ({ content, query }) => ({ content, query }))
	.get("/files/:path+", ({ params }) => params.path)
	.get("/fail", () => {
		throw new StatusError(418, { reason: "teapot" });
	})
	.get("/throw", () => {
		throw new Error("unlucky");
	});

export default { ...router };
