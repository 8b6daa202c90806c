// Records the fixtures beside this folder from the real programs: `node record.mjs DIR`, where DIR/node_modules has
// wrangler 4.86.0. Without DIR it only tells a running server (--url) what to store; the live test does that.
import { spawn } from "node:child_process";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

const requests = [
  "values?class=Room&name=values",
  "alarm?class=Room&name=values",
  "alarm?class=Room&name=alarm only",
  "unset?class=Room&name=unset",
  "small?class=Room&name=unset",
  "small?class=Room",
  "touch?class=Room&name=touched",
  "small?class=Ledger&name=värde 😀",
  "alarm?class=Ledger&name=värde 😀",
  "small?class=Ledger&name=tables and values",
  "tables?class=Ledger&name=tables and values",
  "tables?class=Ledger&name=tables",
  "small?class=Ledger",
];

async function store(url) {
  for (const request of requests) {
    const response = await fetch(`${url}/${request}`);
    if (!response.ok) throw new Error(`${request}: ${response.status} ${await response.text()}`);
  }
}

async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

async function answering(url) {
  for (let tries = 0; tries < 300; tries++) {
    if (await fetch(url).then(() => true, () => false)) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`${url} does not answer`);
}

async function recordWrangler(tools) {
  const work = await mkdtemp(join(tmpdir(), "record-"));
  for (const file of ["worker.mjs", "wrangler.jsonc"]) await cp(join(here, file), join(work, file));
  const port = await freePort();
  const wrangler = spawn(process.execPath,
    [join(tools, "node_modules/wrangler/bin/wrangler.js"), "dev", "--port", port, "--ip", "127.0.0.1"],
    { cwd: work, stdio: "inherit", env: { ...process.env, CI: "1", WRANGLER_SEND_METRICS: "false" } });
  await answering(`http://127.0.0.1:${port}/touch?class=Room&name=touched`);
  await store(`http://127.0.0.1:${port}`);
  // While it runs, so that all of it lies in the write-ahead logs, as after a crash.
  const target = join(here, "..", "wrangler");
  await rm(target, { recursive: true, force: true });
  await cp(join(work, ".wrangler/state/v3/do"), join(target, "v3/do"), { recursive: true });
  for (const file of await readdir(target, { recursive: true })) {
    if (file.endsWith("-shm")) await rm(join(target, file));
  }
  wrangler.kill("SIGINT");
  await new Promise((done) => wrangler.once("exit", done));
  await rm(work, { recursive: true });
}

const [flag, url] = process.argv.slice(2);
if (flag === "--url") await store(url);
else if (flag) await recordWrangler(resolve(flag));
else throw new Error("usage: record.mjs DIR | --url URL");
