// Records what Node 20 gives for the expressions in probes: node record.mjs [file…]. Lines that begin with "~ " or "# "
// stay as they are.
import { readFileSync, writeFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
const here = new URL("./probes/", import.meta.url);
const show = new Function(readFileSync(new URL("./show.js", import.meta.url), "utf8") + "; return show;")();
const names = ["assert", "async_hooks", "buffer", "crypto", "diagnostics_channel", "events", "path", "process", "querystring",
  "stream", "string_decoder", "timers", "url", "util"];
const modules = names.map((name) => require("node:" + name));
const files = process.argv.length > 2 ? process.argv.slice(2) : readdirSync(here);
for (const file of files) {
  const out = [];
  for (const line of readFileSync(new URL(file, here), "utf8").split("\n")) {
    if (line === "" || line.startsWith("# ") || line.startsWith("~ ")) { out.push(line); continue; }
    const expression = line.split(" ⇒ ")[0];
    let got;
    try {
      const f = new Function(...names, "require", "Buffer", `return (async () => (${expression}))()`);
      got = show(await f(...modules, require, Buffer));
    } catch (e) { got = "throws " + show(e); }
    out.push(`${expression} ⇒ ${got}`);
  }
  writeFileSync(new URL(file, here), out.join("\n"));
}
