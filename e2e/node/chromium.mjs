// Drives Chromium for the Go tests, as a person with a keyboard would: one JSON request a line on standard input, one JSON
// answer a line on standard output. `client` names the browser that a request is for; each has cookies of its own.
import readline from 'node:readline';
import { chromium } from 'playwright-core';

// Chromium's own sandbox needs rights that containers and root do not have; it visits this machine alone.
const program = await chromium.launch({ executablePath: process.env.TANDEM_E2E_CHROMIUM, chromiumSandbox: false, timeout: 120_000 });
const browsers = new Map();

function browser(name) {
  const found = browsers.get(name);
  if (!found) throw new Error(`no browser ${name}`);
  return found;
}

// What a person, or a screen reader, is told of the page, once it has been drawn: only then has the focus gone to where the
// page wants it. A page may go on to another meanwhile, by itself.
async function look(b) {
  for (let tries = 0; ; tries++) {
    try {
      return await told(b.page);
    } catch (error) {
      if (tries === 5 || !/Execution context was destroyed|navigat/.test(error.message)) throw error;
      await b.page.waitForLoadState();
    }
  }
}

async function told(page) {
  return page.evaluate(async () => {
    const drawn = new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    await Promise.race([drawn, new Promise((done) => setTimeout(done, 10_000))]);
    const e = document.activeElement;
    const label = (e) =>
      document.getElementById(e.getAttribute('aria-labelledby'))?.innerText || e.labels?.[0]?.innerText || e.innerText || e.id;
    const style = e && getComputedStyle(e);
    return {
      url: location.href,
      title: document.title,
      text: document.body ? document.body.innerText : '',
      focus: e && e !== document.body ? label(e).trim() : '',
      outlined: Boolean(style && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0),
    };
  });
}

const operations = {
  async open({ client, args }) {
    const context = await program.newContext({
      viewport: { width: args.width || 1000, height: args.height || 1000 },
      colorScheme: args.dark ? 'dark' : 'light',
    });
    context.setDefaultTimeout(90_000);
    const page = await context.newPage();
    const b = { context, page, problems: [], status: 0 };
    page.on('dialog', (dialog) => {
      b.problems.push(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on('pageerror', (error) => b.problems.push(`error: ${error.message}`));
    page.on('console', (message) => message.type() === 'error' && b.problems.push(`console: ${message.text()}`));
    page.on('response', (response) => {
      if (response.request().isNavigationRequest() && response.frame() === page.mainFrame()) b.status = response.status();
    });
    browsers.set(client, b);
  },
  async goto({ client, args }) {
    const b = browser(client);
    await b.page.goto(args.url);
    return { ...(await look(b)), status: b.status };
  },
  // Keys that lead to another page: the answer comes when it is there.
  async follow({ client, args }) {
    const b = browser(client);
    await Promise.all([b.page.waitForEvent('framenavigated', { timeout: 90_000 }), b.page.keyboard.press(args.key)]);
    await b.page.waitForLoadState();
    return { ...(await look(b)), status: b.status };
  },
  async press({ client, args }) {
    const b = browser(client);
    await b.page.keyboard.press(args.key);
    return { ...(await look(b)), status: b.status };
  },
  async type({ client, args }) {
    await browser(client).page.keyboard.type(args.text);
  },
  async wait({ client, args }) {
    const b = browser(client);
    await b.page.getByText(args.text).first().waitFor({ timeout: 90_000 });
    return { ...(await look(b)), status: b.status };
  },
  async evaluate({ client, args }) {
    return browser(client).page.evaluate(args.script);
  },
  // A request of the browser's own, with its cookies.
  async request({ client, args }) {
    const response = await browser(client).context.request.fetch(args.url, {
      method: args.method, headers: args.headers ?? {}, data: args.body, maxRedirects: 0,
    });
    return { status: response.status(), body: await response.text() };
  },
  async screenshot({ client, args }) {
    await browser(client).page.screenshot({ path: args.path, fullPage: true });
  },
  async problems({ client }) {
    return browser(client).problems;
  },
};

const lines = readline.createInterface({ input: process.stdin });
lines.on('line', async (line) => {
  const request = JSON.parse(line);
  let answer;
  try {
    answer = { id: request.id, value: (await operations[request.op](request)) ?? null };
  } catch (error) {
    answer = { id: request.id, error: { name: error.name, message: String(error.message) } };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
});
lines.on('close', async () => {
  await program.close();
  process.exit(0);
});
