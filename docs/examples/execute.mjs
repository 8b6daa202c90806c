// Opens an MCP session, runs code in it, and prints the session's id and the answer.
//   node docs/examples/execute.mjs TOKEN 'return 6 * 7' [SESSION] [http://127.0.0.1:8787/mcp]
// With a session id it goes on in that session, without a new initialize. With "resume EXECUTION_ID ACTION" in the place of
// code it answers a paused execution.
const [token, code, session = '', endpoint = 'http://127.0.0.1:8787/mcp'] = process.argv.slice(2);
if (!code) {
  console.error("usage: node docs/examples/execute.mjs TOKEN CODE [SESSION] [ENDPOINT]");
  process.exit(2);
}
const headers = {
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
if (session) headers['mcp-session-id'] = session;

async function send(message) {
  const response = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  headers['mcp-session-id'] ??= response.headers.get('mcp-session-id');
  const data = text.split('\n').find((line) => line.startsWith('data: {'));
  return data && JSON.parse(data.slice('data: '.length)).result;
}

if (!session) {
  const clientInfo = { name: 'example', version: '1.0.0' };
  await send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
  await send({ method: 'notifications/initialized' });
}
const [word, executionId, action] = code.split(' ');
const params =
  word === 'resume' ? { name: 'resume', arguments: { executionId, action } } : { name: 'execute', arguments: { code } };
const result = await send({ id: 2, method: 'tools/call', params });
console.log(`session ${headers['mcp-session-id']}`);
console.log(result.content.map((block) => block.text).join('\n'));
