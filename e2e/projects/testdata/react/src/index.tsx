import { Suspense, use, useId, useState } from "react";
import { renderToReadableStream, renderToString } from "react-dom/server";
import styles from "./page.css";

function Counter({ start }: { start: number }) {
	const [n] = useState(() => start * 2);
	const id = useId();
	return (
		<label htmlFor={id}>
			count <output id={id}>{n}</output>
		</label>
	);
}

function Slow({ text }: { text: Promise<string> }) {
	return <p>{use(text)}</p>;
}

function Page({ name, text }: { name: string; text?: Promise<string> }) {
	return (
		<html lang="en">
			<head>
				<title>{`Page of ${name}`}</title>
				<style>{styles}</style>
			</head>
			<body>
				<h1>{name}</h1>
				<ul>
					{[1, 2].map((n) => (
						<li key={n}>
							<Counter start={n} />
						</li>
					))}
				</ul>
				{text && (
					<Suspense fallback={<p>waiting</p>}>
						<Slow text={text} />
					</Suspense>
				)}
			</body>
		</html>
	);
}

export default {
	async fetch(request: Request): Promise<Response> {
		const url = new URL(request.url);
		const name = url.searchParams.get("name") ?? "nobody";
		const headers = { "content-type": "text/html; charset=utf-8" };
		if (url.pathname === "/string") return new Response(renderToString(<Page name={name} />), { headers });
		const text = new Promise<string>((resolve) => setTimeout(() => resolve("worth the wait"), 1000));
		return new Response(await renderToReadableStream(<Page name={name} text={text} />), { headers });
	},
};
