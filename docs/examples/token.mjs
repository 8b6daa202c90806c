// Prints a bearer token for an e-mail address, by the steps that every MCP client takes: the endpoint's challenge,
// discovery, client registration, PKCE and the exchange of the code.
//   node docs/examples/token.mjs you@example.com [http://127.0.0.1:8787/mcp]
import { createHash, randomBytes } from 'node:crypto';

const [email, endpoint = 'http://127.0.0.1:8787/mcp'] = process.argv.slice(2);
if (!email) {
  console.error('usage: node docs/examples/token.mjs EMAIL [ENDPOINT]');
  process.exit(2);
}
const redirectUri = 'http://127.0.0.1:9/callback'; // nothing listens there: the code is read from the redirect itself

const json = async (response) => {
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${await response.text()}`);
  return response.json();
};
const challenge = (await fetch(endpoint, { method: 'POST' })).headers.get('www-authenticate');
const resource = await json(await fetch(challenge.match(/resource_metadata="([^"]+)"/)[1]));
const server = await json(await fetch(`${resource.authorization_servers[0]}/.well-known/oauth-authorization-server`));
const client = await json(
  await fetch(server.registration_endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'example', redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }),
  }),
);
const verifier = randomBytes(32).toString('base64url');
const authorize = new URL(server.authorization_endpoint);
authorize.search = new URLSearchParams({
  response_type: 'code',
  client_id: client.client_id,
  redirect_uri: redirectUri,
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
  resource: resource.resource,
  login_hint: email, // the development server signs in without a page
});
const redirect = (await fetch(authorize, { redirect: 'manual' })).headers.get('location');
const token = await json(
  await fetch(server.token_endpoint, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: new URL(redirect).searchParams.get('code'),
      redirect_uri: redirectUri,
      client_id: client.client_id,
      code_verifier: verifier,
      resource: resource.resource,
    }),
  }),
);
console.log(token.access_token);
