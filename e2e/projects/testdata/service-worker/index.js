// A Worker of the older kind: no exports, bindings are globals.
addEventListener("fetch", (event) => {
	event.respondWith(handle(event));
});

async function handle(event) {
	const url = new URL(event.request.url);
	if (url.pathname === "/fail") throw new Error("classic failure");
	if (url.pathname === "/seen") return new Response(await SEEN.get("cron"));
	return new Response(`${WORD} ${event.request.method} ${url.pathname}`);
}

addEventListener("scheduled", (event) => {
	event.waitUntil(SEEN.put("cron", event.cron));
});
