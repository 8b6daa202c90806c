// Intl, for English and for the ways in which a few other languages write numbers and dates in figures. A language
// that is not known is taken for American English, and resolvedOptions says so.
(function (host) {
  const { timeZone: zoneAt } = host;
  const locales = {
    "en-US": { group: ",", decimal: ".", date: "mdy", separator: "/", hour12: true },
    "en-GB": { group: ",", decimal: ".", date: "dmy", separator: "/", two: true },
    "en-CA": { group: ",", decimal: ".", date: "ymd", separator: "-", two: true, hour12: true, pm: ["a.m.", "p.m."] },
    "en-AU": { group: ",", decimal: ".", date: "dmy", separator: "/", two: true, hour12: true, pm: ["am", "pm"] },
    "de-DE": { group: ".", decimal: ",", date: "dmy", separator: ".", after: true },
    "fr-FR": { group: "\u202f", decimal: ",", date: "dmy", separator: "/", two: true, join: " ", after: true },
    "es-ES": { group: ".", decimal: ",", date: "dmy", separator: "/", after: true, groupFrom: 5 },
    "it-IT": { group: ".", decimal: ",", date: "dmy", separator: "/", after: true },
    "sv-SE": { group: "\u00a0", decimal: ",", date: "ymd", separator: "-", two: true, join: " ", after: true },
  };
  const short = { en: "en-US", de: "de-DE", fr: "fr-FR", es: "es-ES", it: "it-IT", sv: "sv-SE" };
  const canonical = (tag) => {
    if (typeof tag !== "string" && (typeof tag !== "object" || tag === null))
      throw new TypeError("Incorrect locale information provided");
    const parts = String(tag).split("-");
    if (!/^[a-z]{2,8}$/i.test(parts[0]) || parts.some((p) => !/^[a-z\d]{1,8}$/i.test(p))) {
      throw new RangeError(`Incorrect locale information provided`);
    }
    return parts
      .map((p, n) =>
        n === 0
          ? p.toLowerCase()
          : p.length === 2
            ? p.toUpperCase()
            : p.length === 4
              ? p[0].toUpperCase() + p.slice(1).toLowerCase()
              : p.toLowerCase(),
      )
      .join("-");
  };
  const list = (l) => (l === undefined ? [] : (typeof l === "string" ? [l] : [...l]).map(canonical));
  const resolve = (requested) => {
    for (const tag of list(requested)) {
      if (locales[tag]) return [tag, locales[tag]];
      const known = short[tag] ?? short[tag.split("-")[0]];
      if (known) return [tag.includes("-") ? tag : known === "en-US" ? "en" : tag, locales[known]];
    }
    return ["en-US", locales["en-US"]];
  };
  const supportedLocalesOf = (l) => list(l).filter((tag) => locales[tag] || short[tag.split("-")[0]]);
  const oneOf = (options, name, values, missing) => {
    const v = options?.[name];
    if (v === undefined) return missing;
    if (!values.includes(String(v))) throw new RangeError(`Value ${v} out of range for Intl options property ${name}`);
    return String(v);
  };
  const digitOption = (options, name, low, high, missing) => {
    const v = options?.[name];
    if (v === undefined) return missing;
    const n = Math.floor(Number(v));
    if (!(n >= low && n <= high)) throw new RangeError(`${name} value is out of range.`);
    return n;
  };
  const finish = (C) => {
    Object.defineProperty(C.prototype, Symbol.toStringTag, { value: "Intl." + C.name, configurable: true });
    Object.defineProperty(C, "supportedLocalesOf", { value: supportedLocalesOf, writable: true, configurable: true });
    return C;
  };
  // callable lets a class be called without new.
  const callable = (C) => {
    const f = {
      [C.name]: function (...args) {
        return Reflect.construct(C, args, new.target ?? C);
      },
    }[C.name];
    f.prototype = C.prototype;
    Object.defineProperty(C.prototype, "constructor", { value: f, writable: true, configurable: true });
    Object.defineProperty(f, "supportedLocalesOf", { value: supportedLocalesOf, writable: true, configurable: true });
    return f;
  };

  // Numbers. decimals gives the digits of a number as it is written shortest, without an exponent.
  const decimals = (x) => {
    const text = typeof x === "bigint" ? String(x < 0n ? -x : x) : String(Math.abs(x));
    const [mantissa, exponent = "0"] = text.split("e");
    const [whole, part = ""] = mantissa.split(".");
    const e = Number(exponent);
    if (e >= 0) return [whole + part.padEnd(e, "0").slice(0, e), part.slice(e)];
    const all = whole.padStart(1 - e, "0");
    return [all.slice(0, all.length + e), all.slice(all.length + e) + part];
  };
  // round leaves so many digits behind the point, or before it where that is negative; a half goes up.
  const round = ([whole, part], places) => {
    if (places >= part.length) return [whole, part];
    const all = whole + part,
      at = whole.length + places;
    if (at < 0) return ["0", ""];
    let digits = all.slice(0, at);
    if (all.charCodeAt(at) >= 53)
      digits = String(BigInt("1" + digits) + 1n).replace(/^./, (c) => (c === "1" ? "" : "1"));
    if (places < 0) return [digits + "0".repeat(-places), ""];
    return [digits.slice(0, digits.length - places), digits.slice(digits.length - places)];
  };
  const symbols = {
    USD: "$",
    EUR: "€",
    GBP: "£",
    JPY: "¥",
    INR: "₹",
    CNY: "CN¥",
    KRW: "₩",
    BRL: "R$",
    CAD: "CA$",
    AUD: "A$",
    MXN: "MX$",
    NZD: "NZ$",
    ILS: "₪",
    VND: "₫",
    TWD: "NT$",
    HKD: "HK$",
    PHP: "₱",
  };
  const whole = new Set(["JPY", "KRW", "VND", "CLP", "ISK", "UGX"]);
  const units = {
    megabyte: "MB",
    kilobyte: "kB",
    gigabyte: "GB",
    terabyte: "TB",
    byte: "byte",
    kilometer: "km",
    meter: "m",
    centimeter: "cm",
    kilogram: "kg",
    gram: "g",
    liter: "L",
    second: "sec",
    minute: "min",
    hour: "hr",
    millisecond: "ms",
    celsius: "°C",
    fahrenheit: "°F",
    percent: "%",
    mile: "mi",
    foot: "ft",
    inch: "in",
    pound: "lb",
    "kilometer-per-hour": "km/h",
  };
  class NumberFormat {
    #o;
    #locale;
    #data;
    constructor(requested, options) {
      [this.#locale, this.#data] = resolve(requested);
      const style = oneOf(options, "style", ["decimal", "currency", "percent", "unit"], "decimal");
      const currency = options?.currency === undefined ? undefined : String(options.currency).toUpperCase();
      if (style === "currency" && currency === undefined)
        throw new TypeError("Currency code is required with currency style.");
      if (currency !== undefined && !/^[A-Z]{3}$/.test(currency))
        throw new RangeError(`Invalid currency code : ${options.currency}`);
      if (style === "unit" && options.unit === undefined) throw new TypeError("Required unit is missing.");
      const notation = oneOf(options, "notation", ["standard", "compact", "scientific", "engineering"], "standard");
      const money = style === "currency" ? (whole.has(currency) ? 0 : 2) : 0;
      let least = digitOption(options, "minimumFractionDigits", 0, 100);
      let most = digitOption(options, "maximumFractionDigits", 0, 100);
      const usual = style === "currency" ? money : style === "percent" || notation === "compact" ? 0 : 3;
      if (least === undefined) least = Math.min(notation === "compact" ? 0 : money, most ?? money);
      if (most === undefined) most = Math.max(least, usual);
      if (least > most) throw new RangeError("maximumFractionDigits value is out of range.");
      this.#o = {
        style,
        currency,
        unit: options?.unit,
        notation,
        least,
        most,
        given: options?.maximumFractionDigits !== undefined || options?.minimumFractionDigits !== undefined,
        leastWhole: digitOption(options, "minimumIntegerDigits", 1, 21, 1),
        leastDigits: digitOption(options, "minimumSignificantDigits", 1, 21),
        mostDigits: digitOption(options, "maximumSignificantDigits", 1, 21),
        group: options?.useGrouping !== false && options?.useGrouping !== "false",
        sign: oneOf(options, "signDisplay", ["auto", "never", "always", "exceptZero", "negative"], "auto"),
        currencyDisplay: oneOf(options, "currencyDisplay", ["code", "symbol", "narrowSymbol", "name"], "symbol"),
        compactDisplay: oneOf(options, "compactDisplay", ["short", "long"], "short"),
        unitDisplay: oneOf(options, "unitDisplay", ["short", "narrow", "long"], "short"),
      };
    }
    #digits(x) {
      const o = this.#o;
      let d = decimals(x);
      if (o.mostDigits !== undefined || o.leastDigits !== undefined) {
        const lead = d[0].replace(/^0+/, "").length || -d[1].match(/^0*/)[0].length;
        d = round(d, (o.mostDigits ?? 21) - lead);
        d[1] = d[1].replace(/0+$/, "");
        if (o.leastDigits !== undefined) d[1] = d[1].padEnd(o.leastDigits - lead, "0");
      } else {
        d = round(d, o.most);
        d[1] = d[1].replace(/0+$/, "").padEnd(o.least, "0");
      }
      d[0] = d[0].replace(/^0+(?=\d)/, "").padStart(o.leastWhole, "0");
      return d;
    }
    #parts(value) {
      const o = this.#o,
        data = this.#data;
      let x = typeof value === "bigint" ? value : Number(value);
      const parts = [];
      if (o.style === "percent") x = typeof x === "bigint" ? x * 100n : Number((x * 100).toPrecision(15));
      const negative = x < 0 || Object.is(x, -0);
      let suffix = "";
      if (Number.isNaN(x)) parts.push(["nan", "NaN"]);
      else if (x === Infinity || x === -Infinity) parts.push(["infinity", "∞"]);
      else {
        let d;
        if (o.notation === "compact") {
          const steps = [
            [1e12, "T", " trillion"],
            [1e9, "B", " billion"],
            [1e6, "M", " million"],
            [1e3, "K", " thousand"],
          ];
          const step = steps.find(([size]) => Math.abs(Number(x)) >= size * 0.9995);
          const small = step ? Number(x) / step[0] : Number(x);
          d =
            o.given || o.mostDigits !== undefined
              ? this.#digits(small)
              : round(
                  decimals(small),
                  Math.abs(small) < 99.5 ? Math.max(0, 2 - decimals(small)[0].replace(/^0+/, "").length) : 0,
                );
          if (!o.given) d[1] = d[1].replace(/0+$/, "");
          if (step) suffix = step[o.compactDisplay === "long" ? 2 : 1];
        } else d = this.#digits(x);
        let [integer, fraction] = d;
        if (o.group && integer.length >= (data.groupFrom ?? 4)) {
          const groups = [];
          for (let end = integer.length; end > 0; end -= 3) groups.unshift(integer.slice(Math.max(0, end - 3), end));
          groups.forEach((g, n) => {
            if (n) parts.push(["group", data.group]);
            parts.push(["integer", g]);
          });
        } else parts.push(["integer", integer]);
        if (fraction) parts.push(["decimal", data.decimal], ["fraction", fraction]);
        if (suffix) parts.push(["compact", suffix]);
      }
      const zero =
        parts.every(([type, v]) => (type !== "integer" && type !== "fraction") || /^0*$/.test(v)) &&
        parts.some(([t]) => t === "integer");
      if (o.style === "percent") parts.push(...(data.after ? [["literal", "\u00a0"]] : []), ["percentSign", "%"]);
      if (o.style === "currency") {
        const symbol = o.currencyDisplay === "code" ? o.currency : (symbols[o.currency] ?? o.currency);
        if (data.after) parts.push(["literal", "\u00a0"], ["currency", symbol]);
        else parts.unshift(["currency", symbol], ...(/^[A-Z]{3}$/.test(symbol) ? [["literal", "\u00a0"]] : []));
      }
      if (o.style === "unit") parts.push(["literal", " "], ["unit", units[o.unit] ?? String(o.unit)]);
      const minus = negative && o.sign !== "never" && !(zero && o.sign !== "auto" && o.sign !== "always");
      const plus = !negative && !Number.isNaN(x) && (o.sign === "always" || (o.sign === "exceptZero" && !zero));
      if (minus) parts.unshift(["minusSign", "-"]);
      else if (plus) parts.unshift(["plusSign", "+"]);
      return parts;
    }
    get format() {
      return (x) =>
        this.#parts(x)
          .map((p) => p[1])
          .join("");
    }
    formatToParts(x) {
      return this.#parts(x).map(([type, value]) => ({ type, value }));
    }
    formatRange(a, b) {
      return `${this.format(a)} – ${this.format(b)}`;
    }
    resolvedOptions() {
      const o = this.#o;
      const out = { locale: this.#locale, numberingSystem: "latn", style: o.style };
      if (o.style === "currency")
        Object.assign(out, { currency: o.currency, currencyDisplay: o.currencyDisplay, currencySign: "standard" });
      return Object.assign(out, {
        minimumIntegerDigits: o.leastWhole,
        minimumFractionDigits: o.least,
        maximumFractionDigits: o.most,
        useGrouping: o.group ? "auto" : false,
        notation: o.notation,
        signDisplay: o.sign,
      });
    }
  }
  finish(NumberFormat);

  // Dates.
  const months = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
  ];
  const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
  const dateStyles = {
    full: { weekday: "long", month: "long", day: "numeric", year: "numeric" },
    long: { month: "long", day: "numeric", year: "numeric" },
    medium: { month: "short", day: "numeric", year: "numeric" },
    short: { month: "numeric", day: "numeric", year: "2-digit" },
  };
  const timeStyles = {
    full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "long" },
    long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
    medium: { hour: "numeric", minute: "2-digit", second: "2-digit" },
    short: { hour: "numeric", minute: "2-digit" },
  };
  const dateFields = ["weekday", "year", "month", "day"],
    timeFields = ["hour", "minute", "second", "fractionalSecondDigits", "dayPeriod"];
  const two = (n) => String(n).padStart(2, "0");
  class DateTimeFormat {
    #o;
    #locale;
    #data;
    #zone;
    // defaults is "date", "time" or "all": what is shown when the options name nothing.
    constructor(requested, options, defaults = "date") {
      [this.#locale, this.#data] = resolve(requested);
      const { dateStyle, timeStyle } = options ?? {};
      let o = {};
      if (dateStyle !== undefined || timeStyle !== undefined) {
        const field = [...dateFields, ...timeFields].find((f) => options[f] !== undefined);
        if (field !== undefined) {
          const style = dateStyle !== undefined ? "dateStyle" : "timeStyle";
          throw new TypeError(`Can't set option ${field} when ${style} is used`);
        }
        if (dateStyle !== undefined) Object.assign(o, dateStyles[oneOf(options, "dateStyle", Object.keys(dateStyles))]);
        if (timeStyle !== undefined) Object.assign(o, timeStyles[oneOf(options, "timeStyle", Object.keys(timeStyles))]);
        o.at = dateStyle === "full" || dateStyle === "long";
      } else {
        for (const f of [...dateFields, ...timeFields, "timeZoneName", "era"])
          if (options?.[f] !== undefined) o[f] = String(options[f]);
        const needs = (fields) => !fields.some((f) => o[f] !== undefined);
        if ((defaults === "date" || defaults === "all") && needs([...dateFields, ...timeFields]))
          Object.assign(o, { year: "numeric", month: "numeric", day: "numeric" });
        if (
          defaults === "all" &&
          needs(timeFields) &&
          options?.year === undefined &&
          options?.month === undefined &&
          options?.day === undefined &&
          options?.weekday === undefined
        ) {
          Object.assign(o, { hour: "numeric", minute: "2-digit", second: "2-digit" });
        }
        if (defaults === "time" && needs([...dateFields, ...timeFields]))
          Object.assign(o, { hour: "numeric", minute: "2-digit", second: "2-digit" });
      }
      o.hour12 =
        options?.hour12 === undefined
          ? options?.hourCycle === undefined
            ? !!this.#data.hour12
            : /^h1[12]$/.test(options.hourCycle)
          : !!options.hour12;
      o.h24 = options?.hour12 === false && this.#data.hour12 && options?.hourCycle === undefined;
      this.#o = o;
      this.#zone = options?.timeZone === undefined ? "UTC" : String(options.timeZone);
      const zone = zoneAt(this.#zone, 0);
      if (!zone) throw new RangeError(`Invalid time zone specified: ${this.#zone}`);
      this.#zone = zone.name;
    }
    #fields(value) {
      const ms = value === undefined ? Date.now() : Number(value);
      if (!(Math.abs(ms) <= 8.64e15)) throw new RangeError("Invalid time value");
      const zone = zoneAt(this.#zone, ms);
      return [new Date(ms + zone.offset * 1000), zone];
    }
    #date(d) {
      const o = this.#o,
        data = this.#data,
        out = [];
      const year =
        o.year === "2-digit" ? ["year", two(d.getUTCFullYear() % 100)] : ["year", String(d.getUTCFullYear())];
      const pad = (style, n) =>
        style === "2-digit" || (data.two && o.month !== undefined && o.day !== undefined) ? two(n) : String(n);
      const day = ["day", pad(o.day, d.getUTCDate())];
      const spelled = o.month === "long" || o.month === "short" || o.month === "narrow";
      if (o.weekday !== undefined)
        out.push([
          "weekday",
          o.weekday === "long"
            ? days[d.getUTCDay()]
            : o.weekday === "narrow"
              ? days[d.getUTCDay()][0]
              : days[d.getUTCDay()].slice(0, 3),
        ]);
      const rest = [];
      if (spelled) {
        const name = months[d.getUTCMonth()];
        const month = ["month", o.month === "long" ? name : o.month === "narrow" ? name[0] : name.slice(0, 3)];
        const order =
          data.date === "mdy" || data.date === "ymd"
            ? [month, o.day !== undefined && ["day", String(d.getUTCDate())]]
            : [o.day !== undefined && ["day", String(d.getUTCDate())], month];
        for (const p of order.filter(Boolean)) {
          if (rest.length) rest.push(["literal", " "]);
          rest.push(p);
        }
        if (o.year !== undefined) rest.push(["literal", o.day !== undefined && data.date !== "dmy" ? ", " : " "], year);
      } else {
        const month = o.month !== undefined && ["month", pad(o.month, d.getUTCMonth() + 1)];
        const all = { y: o.year !== undefined && year, m: month, d: o.day !== undefined && day };
        for (const p of [...data.date].map((c) => all[c]).filter(Boolean)) {
          if (rest.length) rest.push(["literal", data.separator]);
          rest.push(p);
        }
      }
      if (out.length && rest.length) out.push(["literal", ", "]);
      return [...out, ...rest];
    }
    #time(d, zone) {
      const o = this.#o,
        out = [];
      const h = d.getUTCHours();
      if (o.hour !== undefined) {
        const n = o.hour12 ? h % 12 || 12 : o.h24 && h === 0 ? 24 : h;
        out.push(["hour", o.hour === "2-digit" || !o.hour12 ? two(n) : String(n)]);
      }
      if (o.minute !== undefined) {
        if (out.length) out.push(["literal", ":"]);
        out.push([
          "minute",
          o.hour !== undefined || o.second !== undefined || o.minute === "2-digit"
            ? two(d.getUTCMinutes())
            : String(d.getUTCMinutes()),
        ]);
      }
      if (o.second !== undefined) {
        if (out.length) out.push(["literal", ":"]);
        out.push([
          "second",
          o.minute !== undefined || o.second === "2-digit" ? two(d.getUTCSeconds()) : String(d.getUTCSeconds()),
        ]);
      }
      if (o.fractionalSecondDigits !== undefined) {
        if (out.length) out.push(["literal", "."]);
        out.push([
          "fractionalSecond",
          String(d.getUTCMilliseconds()).padStart(3, "0").slice(0, Number(o.fractionalSecondDigits)),
        ]);
      }
      if (o.hour !== undefined && o.hour12)
        out.push(["literal", " "], ["dayPeriod", (this.#data.pm ?? ["AM", "PM"])[h < 12 ? 0 : 1]]);
      if (o.timeZoneName !== undefined) {
        const long = this.#zone === "UTC" ? "Coordinated Universal Time" : zone.abbreviation;
        if (out.length) out.push(["literal", " "]);
        out.push(["timeZoneName", o.timeZoneName === "long" ? long : zone.abbreviation]);
      }
      return out;
    }
    #parts(value) {
      const [d, zone] = this.#fields(value);
      const date = this.#date(d),
        time = this.#time(d, zone);
      if (date.length && time.length) date.push(["literal", this.#o.at ? " at " : (this.#data.join ?? ", ")]);
      return [...date, ...time];
    }
    get format() {
      return (value) =>
        this.#parts(value)
          .map((p) => p[1])
          .join("");
    }
    formatToParts(value) {
      return this.#parts(value).map(([type, v]) => ({ type, value: v }));
    }
    formatRange(a, b) {
      return `${this.format(a)} – ${this.format(b)}`;
    }
    resolvedOptions() {
      const { at, h24, hour12, ...fields } = this.#o;
      return {
        locale: this.#locale,
        calendar: "gregory",
        numberingSystem: "latn",
        timeZone: this.#zone,
        ...(fields.hour !== undefined ? { hourCycle: hour12 ? "h12" : "h23", hour12 } : {}),
        ...fields,
      };
    }
  }
  finish(DateTimeFormat);

  class PluralRules {
    #ordinal;
    #locale;
    constructor(requested, options) {
      [this.#locale] = resolve(requested);
      this.#ordinal = oneOf(options, "type", ["cardinal", "ordinal"], "cardinal") === "ordinal";
    }
    select(n) {
      n = Math.abs(Number(n));
      if (!this.#ordinal) return n === 1 ? "one" : "other";
      const tens = n % 100;
      if (tens >= 11 && tens <= 13) return "other";
      return { 1: "one", 2: "two", 3: "few" }[n % 10] ?? "other";
    }
    resolvedOptions() {
      return {
        locale: this.#locale,
        type: this.#ordinal ? "ordinal" : "cardinal",
        pluralCategories: this.#ordinal ? ["few", "one", "two", "other"] : ["one", "other"],
      };
    }
  }
  finish(PluralRules);

  class ListFormat {
    #word;
    #unit;
    #locale;
    constructor(requested, options) {
      [this.#locale] = resolve(requested);
      const type = oneOf(options, "type", ["conjunction", "disjunction", "unit"], "conjunction");
      const style = oneOf(options, "style", ["long", "short", "narrow"], "long");
      this.#unit = type === "unit";
      this.#word = type === "disjunction" ? "or" : style === "long" ? "and" : "&";
    }
    format(items) {
      const all = [...items];
      if (this.#unit || all.length < 2) return all.join(", ");
      if (all.length === 2) return `${all[0]} ${this.#word} ${all[1]}`;
      return `${all.slice(0, -1).join(", ")}, ${this.#word} ${all[all.length - 1]}`;
    }
    resolvedOptions() {
      return { locale: this.#locale };
    }
  }
  finish(ListFormat);

  class RelativeTimeFormat {
    #auto;
    #locale;
    #number;
    constructor(requested, options) {
      [this.#locale] = resolve(requested);
      this.#auto = oneOf(options, "numeric", ["always", "auto"], "always") === "auto";
      this.#number = new NumberFormat(requested);
    }
    format(value, unit) {
      const n = Number(value);
      unit = String(unit).replace(/s$/, "");
      if (!["second", "minute", "hour", "day", "week", "month", "quarter", "year"].includes(unit)) {
        throw new RangeError(`Invalid unit argument for format() '${unit}'`);
      }
      if (this.#auto && unit === "day" && [-1, 0, 1].includes(n)) return ["yesterday", "today", "tomorrow"][n + 1];
      if (this.#auto && [-1, 0, 1].includes(n) && !["second", "minute", "hour"].includes(unit))
        return ["last ", "this ", "next "][n + 1] + unit;
      if (this.#auto && n === 0) return unit === "second" ? "now" : "this " + unit;
      const text = `${this.#number.format(Math.abs(n))} ${unit}${Math.abs(n) === 1 ? "" : "s"}`;
      return n < 0 || Object.is(n, -0) ? text + " ago" : "in " + text;
    }
    resolvedOptions() {
      return { locale: this.#locale, numeric: this.#auto ? "auto" : "always", style: "long", numberingSystem: "latn" };
    }
  }
  finish(RelativeTimeFormat);

  class Collator {
    #o;
    #locale;
    constructor(requested, options) {
      [this.#locale] = resolve(requested);
      this.#o = {
        numeric: !!options?.numeric,
        sensitivity: oneOf(options, "sensitivity", ["base", "accent", "case", "variant"], "variant"),
      };
    }
    get compare() {
      const { numeric, sensitivity } = this.#o;
      const fold = (s) => {
        s = String(s);
        if (sensitivity === "base" || sensitivity === "case") s = s.normalize("NFD").replace(/[\u0300-\u036f]/g, "");
        return sensitivity === "base" || sensitivity === "accent" ? s.toLowerCase() : s;
      };
      return (a, b) => {
        a = fold(a);
        b = fold(b);
        if (numeric) {
          const x = a.split(/(\d+)/),
            y = b.split(/(\d+)/);
          for (let n = 0; n < Math.min(x.length, y.length); n++) {
            const c = n % 2 ? Number(x[n]) - Number(y[n]) : x[n].localeCompare(y[n]);
            if (c !== 0) return Math.sign(c);
          }
          return Math.sign(x.length - y.length);
        }
        return a.localeCompare(b);
      };
    }
    resolvedOptions() {
      return {
        locale: this.#locale,
        usage: "sort",
        ...this.#o,
        ignorePunctuation: false,
        collation: "default",
        caseFirst: "false",
      };
    }
  }
  finish(Collator);

  class Segmenter {
    #kind;
    #locale;
    constructor(requested, options) {
      [this.#locale] = resolve(requested);
      this.#kind = oneOf(options, "granularity", ["grapheme", "word", "sentence"], "grapheme");
    }
    segment(text) {
      text = String(text);
      const kind = this.#kind;
      return {
        *[Symbol.iterator]() {
          // A base with the marks, joiners and variation selectors behind it.
          const cuts =
            kind === "word"
              ? text.match(/[A-Za-z\d\u00c0-\uffff'’]+|[^A-Za-z\d\u00c0-\uffff'’]/g)
              : kind === "sentence"
                ? text.match(/[^.!?]+[.!?]*\s*/g)
                : text.match(
                    /(?:[\ud800-\udbff][\udc00-\udfff]|\r\n|[^])(?:[\u0300-\u036f\ufe0f]|\u200d(?:[\ud800-\udbff][\udc00-\udfff]|[^])|\ud83c[\udffb-\udfff])*/g,
                  );
          let index = 0;
          for (const segment of cuts ?? []) {
            yield kind === "word"
              ? { segment, index, input: text, isWordLike: /[A-Za-z\d\u00c0-\uffff]/.test(segment) }
              : { segment, index, input: text };
            index += segment.length;
          }
        },
      };
    }
    resolvedOptions() {
      return { locale: this.#locale, granularity: this.#kind };
    }
  }
  finish(Segmenter);

  const Intl = {};
  const define = (name, value) => Object.defineProperty(Intl, name, { value, writable: true, configurable: true });
  for (const C of [
    callable(NumberFormat),
    callable(DateTimeFormat),
    callable(Collator),
    PluralRules,
    ListFormat,
    RelativeTimeFormat,
    Segmenter,
  ])
    define(C.name, C);
  define("getCanonicalLocales", (l) => [...new Set(list(l))]);
  define(
    "supportedValuesOf",
    (key) =>
      ({
        currency: Object.keys(symbols).sort(),
        unit: Object.keys(units).sort(),
        calendar: ["gregory"],
        numberingSystem: ["latn"],
      })[key] ?? [],
  );
  Object.defineProperty(Intl, Symbol.toStringTag, { value: "Intl", configurable: true });

  // What the methods of numbers and dates do with a language and options.
  return {
    Intl,
    number: (x, l, options) => new NumberFormat(l, options).format(x),
    date: (x, l, options, defaults) =>
      new DateTimeFormat(
        l,
        defaults === "date" && options?.timeStyle !== undefined ? undefined : options,
        defaults,
      ).format(x),
  };
});
