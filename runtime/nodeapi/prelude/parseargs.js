// util.parseArgs.
(function (host, use) {
  const { coded, check, invalidArgType, invalidArgValue } = use("errors");
  const parseArgs = function parseArgs(config = {}) {
    check.object(config, "config");
    const args = config.args ?? use("process").argv.slice(2);
    const { strict = true, allowPositionals = !strict, tokens: wantTokens = false, options = {}, allowNegative = false } = config;
    if (!Array.isArray(args)) invalidArgType("args", "Array", args);
    for (const [name, o] of Object.entries(options)) {
      check.object(o, `options.${name}`);
      if (o.type !== "string" && o.type !== "boolean") {
        invalidArgType(`options.${name}.type`, "string", o.type);
      }
      if (o.short !== undefined && (typeof o.short !== "string" || o.short.length !== 1)) {
        throw invalidArgValue(`options.${name}.short`, o.short, "must be a single character");
      }
    }
    const values = { __proto__: null }, positionals = [], tokens = [];
    const byShort = (c) => Object.keys(options).find((name) => options[name].short === c) ?? c;
    const bad = (text) => coded(TypeError, "ERR_PARSE_ARGS_INVALID_OPTION_VALUE", text);
    const store = (t) => {
      const o = options[t.name];
      if (strict) {
        if (!o && !(allowNegative && t.name.startsWith("no-") && options[t.name.slice(3)]?.type === "boolean")) {
          const hint = allowPositionals ? `. To specify a positional argument starting with a '-', place it at the end of the ` +
            `command after '--', as in '-- "${t.rawName}"` : "";
          throw coded(TypeError, "ERR_PARSE_ARGS_UNKNOWN_OPTION", `Unknown option '${t.rawName}'${hint}`);
        }
        const word = o && `${o.short ? `-${o.short}, ` : ""}--${t.name}`;
        if (o?.type === "string" && typeof t.value !== "string") throw bad(`Option '${word} <value>' argument missing`);
        if (o?.type === "boolean" && t.value !== undefined) throw bad(`Option '${word}' does not take an argument`);
        if (t.inlineValue === false && typeof t.value === "string" && t.value.length > 1 && t.value.startsWith("-")) {
          throw bad(`Option '${t.rawName}' argument is ambiguous.\nDid you forget to specify the option argument for ` +
            `'${t.rawName}'?\nTo specify an option argument starting with a dash use ` +
            `'${t.rawName.startsWith("--") ? t.rawName : `--${t.name}`}=-XYZ'.`);
        }
      }
      let { name } = t, value = t.value ?? true;
      if (!o && allowNegative && name.startsWith("no-") && options[name.slice(3)]?.type === "boolean") { name = name.slice(3); value = false; }
      if (name === "__proto__") return;
      if (options[name]?.multiple) (values[name] ??= []).push(value);
      else values[name] = value;
    };
    const queue = args.map((text, at) => ({ text: `${text}`, at }));
    const option = (name, rawName, index, value, inlineValue) =>
      tokens.push({ kind: "option", name, rawName, index, value, inlineValue });
    for (let n = 0; n < queue.length; n++) {
      const { text, at } = queue[n];
      const next = queue[n + 1];
      if (text === "--") {
        tokens.push({ kind: "option-terminator", index: at });
        for (const q of queue.slice(n + 1)) tokens.push({ kind: "positional", index: q.at, value: q.text });
        break;
      }
      const takes = (name) => options[name]?.type === "string" && next !== undefined;
      if (/^--[^=]+$/.test(text)) {
        const name = text.slice(2);
        if (takes(name)) { option(name, text, at, next.text, false); n++; } else option(name, text, at, undefined, undefined);
      } else if (/^--[^=]+=/.test(text)) {
        const eq = text.indexOf("=");
        option(text.slice(2, eq), text.slice(0, eq), at, text.slice(eq + 1), true);
      } else if (text.length > 1 && text[0] === "-" && text[1] !== "-") {
        const name = byShort(text[1]);
        if (text.length === 2) {
          if (takes(name)) { option(name, text, at, next.text, false); n++; } else option(name, text, at, undefined, undefined);
        } else if (options[name]?.type === "string") option(name, text.slice(0, 2), at, text.slice(2), true);
        else queue.splice(n, 1, ...[...text.slice(1)].map((c) => ({ text: "-" + c, at }))), n--;
      } else {
        tokens.push({ kind: "positional", index: at, value: text });
        if (strict && !allowPositionals) {
          throw coded(TypeError, "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL",
            `Unexpected argument '${text}'. This command does not take positional arguments`);
        }
      }
    }
    for (const t of tokens) {
      if (t.kind === "option") store(t);
      else if (t.kind === "positional") {
        if (!allowPositionals) {
          throw coded(TypeError, "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL",
            `Unexpected argument '${t.value}'. This command does not take positional arguments`);
        }
        positionals.push(t.value);
      }
    }
    for (const [name, o] of Object.entries(options)) if (o.default !== undefined && values[name] === undefined) values[name] = o.default;
    return wantTokens ? { values, positionals, tokens } : { values, positionals };
  };
  return { parseArgs };
})
