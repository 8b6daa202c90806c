import * as jose from "jose";

interface Env {
	ISSUER: string;
	SECRET: string;
}

/** signed returns a cookie with who signed in. */
async function signed(env: Env, user: string): Promise<string> {
	const token = await new jose.SignJWT({ role: "member" })
		.setProtectedHeader({ alg: "HS256" })
		.setSubject(user)
		.setIssuer(env.ISSUER)
		.setIssuedAt()
		.setExpirationTime("2h")
		.sign(new TextEncoder().encode(env.SECRET));
	return `session=${token}; Path=/; HttpOnly`;
}

/** roundTrip signs with one half of a fresh key pair, and verifies by the other's JWK. */
async function roundTrip(alg: string): Promise<string> {
	const { publicKey, privateKey } = await jose.generateKeyPair(alg, { extractable: true });
	const jwk = await jose.exportJWK(publicKey);
	const kid = await jose.calculateJwkThumbprint(jwk);
	const token = await new jose.SignJWT({ n: 1 }).setProtectedHeader({ alg, kid }).setAudience("us").sign(privateKey);
	const keys = jose.createLocalJWKSet({ keys: [{ ...jwk, kid, alg }] });
	const { payload, protectedHeader } = await jose.jwtVerify(token, keys, { audience: "us" });
	return `${protectedHeader.alg} ${payload.n}`;
}

/** sealed encrypts and decrypts. */
async function sealed(alg: string, enc: string, key: CryptoKey | Uint8Array): Promise<string> {
	const jwe = await new jose.CompactEncrypt(new TextEncoder().encode("hidden")).setProtectedHeader({ alg, enc }).encrypt(key);
	return new TextDecoder().decode((await jose.compactDecrypt(jwe, key)).plaintext);
}

async function whoami(request: Request, env: Env): Promise<Response> {
	const cookie = /(?:^|; )session=([^;]*)/.exec(request.headers.get("cookie") ?? "");
	if (!cookie) return new Response("sign in first", { status: 401 });
	try {
		const { payload } = await jose.jwtVerify(cookie[1], new TextEncoder().encode(env.SECRET), { issuer: env.ISSUER });
		return Response.json({ user: payload.sub, role: payload.role, lasts: payload.exp! - payload.iat! });
	} catch (e) {
		return new Response(e instanceof jose.errors.JOSEError ? e.code : String(e), { status: 401 });
	}
}

export default {
	async fetch(request: Request, env: Env): Promise<Response> {
		const url = new URL(request.url);
		switch (url.pathname) {
			case "/login":
				return new Response(null, { status: 204, headers: { "set-cookie": await signed(env, url.searchParams.get("user")!) } });
			case "/me":
				return whoami(request, env);
			case "/pair":
				return new Response(await roundTrip(url.searchParams.get("alg")!));
			case "/sealed":
				return new Response(await sealed("dir", "A256GCM", crypto.getRandomValues(new Uint8Array(32))));
			case "/wrapped":
				return new Response(await sealed("A128KW", "A128CBC-HS256", crypto.getRandomValues(new Uint8Array(16))));
		}
		return new Response(null, { status: 404 });
	},
};
