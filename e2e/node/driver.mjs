// Drives the real MCP SDK client for the Go tests: one JSON request a line on standard input, one JSON answer a line on
// standard output. Requests run side by side; `client` names the client that a request is for.
import readline from 'node:readline';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';

const clients = new Map();

function entry(name) {
  const found = clients.get(name);
  if (!found) throw new Error(`no client ${name}`);
  return found;
}

function newClient(args) {
  return new Client({ name: args.name ?? 'tandem-e2e', version: '1.0.0' }, { capabilities: args.capabilities ?? {} });
}

// An OAuthClientProvider as an application would write it, whose browser is a fetch with a login hint.
class Provider {
  constructor(email) {
    this.email = email;
    this.seen = [];
  }
  get redirectUrl() {
    return 'http://127.0.0.1:9/callback';
  }
  get clientMetadata() {
    return {
      client_name: 'tandem-e2e',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }
  clientInformation() {
    return this.information;
  }
  saveClientInformation(information) {
    this.information = information;
  }
  tokens() {
    return this.saved;
  }
  saveTokens(tokens) {
    this.saved = tokens;
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
  async redirectToAuthorization(url) {
    url.searchParams.set('login_hint', this.email);
    const response = await fetch(url, { redirect: 'manual' });
    const location = response.headers.get('location');
    if (!location) throw new Error(`authorize answered ${response.status}: ${await response.text()}`);
    this.code = new URL(location).searchParams.get('code');
    if (!this.code) throw new Error(`authorize gave no code: ${location}`);
  }
}

const operations = {
  async connect(name, args) {
    const headers = {};
    if (args.token) headers.authorization = `Bearer ${args.token}`;
    const transport = new StreamableHTTPClientTransport(new URL(args.url), {
      sessionId: args.sessionId,
      requestInit: { headers },
    });
    const client = newClient(args);
    const errors = [];
    client.onerror = (error) => errors.push(String(error));
    if (args.elicit) client.setRequestHandler(ElicitRequestSchema, async () => args.elicit);
    await client.connect(transport);
    clients.set(name, { client, transport, errors });
    return { sessionId: transport.sessionId ?? '', server: client.getServerVersion() ?? null };
  },

  async oauth(name, args) {
    const provider = new Provider(args.email);
    const open = () => new StreamableHTTPClientTransport(new URL(args.url), { authProvider: provider });
    let transport = open();
    let client = newClient(args);
    let challenged = false;
    try {
      await client.connect(transport);
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      challenged = true;
      await transport.finishAuth(provider.code);
      transport = open();
      client = newClient(args);
      await client.connect(transport);
    }
    clients.set(name, { client, transport, errors: [] });
    return { challenged, sessionId: transport.sessionId ?? '', refresh: Boolean(provider.saved?.refresh_token) };
  },

  async listTools(name, args) {
    const result = await entry(name).client.listTools(undefined, { timeout: args.timeout ?? 60000 });
    return result.tools;
  },

  async callTool(name, args) {
    const params = { name: args.tool, arguments: args.arguments ?? {} };
    return entry(name).client.callTool(params, undefined, { timeout: args.timeout ?? 60000 });
  },

  async ping(name) {
    return entry(name).client.ping();
  },

  async terminate(name) {
    await entry(name).transport.terminateSession();
    return null;
  },

  async errors(name) {
    return entry(name).errors;
  },

  async close(name) {
    await entry(name).client.close();
    clients.delete(name);
    return null;
  },
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, op, client, args } = JSON.parse(line);
  Promise.resolve()
    .then(() => {
      if (!operations[op]) throw new Error(`no operation ${op}`);
      return operations[op](client, args ?? {});
    })
    .then(
      (value) => ({ id, value: value ?? null }),
      (error) => ({ id, error: { name: error.name, message: String(error.message), code: error.code ?? null } }),
    )
    .then((answer) => process.stdout.write(JSON.stringify(answer) + '\n'));
}
process.exit(0);
