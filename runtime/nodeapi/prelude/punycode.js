// punycode.
(function (host) {
  const decode = (text) => {
    const out = host.punycode(`xn--${text}`, false);
    if (out === undefined) throw new RangeError("Invalid input");
    return out;
  };
  const encode = (text) => (/^[\0-\x7f]*$/.test(text) ? text + "-" : host.punycode(text, true).slice(4));
  const labels = (text, f) => {
    const at = text.lastIndexOf("@");
    const head = at >= 0 ? text.slice(0, at + 1) : "";
    return head + text.slice(at + 1).replace(/[\u3002\uff0e\uff61]/g, ".").split(".").map(f).join(".");
  };
  const ucs2 = {
    decode: (text) => [...text].map((c) => c.codePointAt(0)),
    encode: (points) => String.fromCodePoint(...points),
  };
  return {
    version: "2.1.0", ucs2, decode, encode,
    toASCII: (text) => labels(text, (l) => (/[^\0-\x7f]/.test(l) ? "xn--" + encode(l) : l)),
    toUnicode: (text) => labels(text, (l) => (/^xn--/.test(l) ? decode(l.slice(4).toLowerCase()) : l)),
  };
})
