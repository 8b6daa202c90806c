import { area } from "../probe.js";

const utf8 = (s) => new TextEncoder().encode(s);
const attempt = (run) => { try { return run(); } catch (e) { return e; } };
const caught = (p) => Promise.resolve(p).then((v) => ["ok", v], (e) => ["no", e]);
const form = (...pairs) => { const f = new FormData(); for (const p of pairs) f.append(...p); return f; };
const show = (v) => v instanceof File ? ["file", v.name, v.type, v.size] : v;
const entries = (f) => [...f].map(([k, v]) => [k, show(v)]);
const parse = (body, type) => new Response(body, { headers: { "content-type": type } }).formData();
const multipart = (...parts) => parse(parts.map((p) => "--b\r\n" + p + "\r\n").join("") + "--b--\r\n", "multipart/form-data; boundary=b");

area("forms", {
  worker: {
    "shape": () => [Object.getOwnPropertyNames(FormData.prototype).sort(), Object.prototype.toString.call(new FormData())],
    "append and get": () => { const f = form(["a", "1"], ["a", "2"], ["b", 3]); return [f.get("a"), f.getAll("a"), f.get("b"), f.get("c"), f.getAll("c"), f.has("a"), f.has("c")]; },
    "set": () => { const f = form(["a", "1"], ["b", "2"], ["a", "3"]); f.set("a", "x"); f.set("n", "y"); return entries(f); },
    "delete": () => { const f = form(["a", "1"], ["b", "2"]); return [f.delete("a"), f.delete("z"), entries(f)]; },
    "blob becomes a file": () => { const f = form(["a", new Blob(["x"], { type: "t/y" })]); return [show(f.get("a")), f.get("a") instanceof File]; },
    "blob with a name": () => show(form(["a", new Blob(["x"]), "n.txt"]).get("a")),
    "file keeps its name": () => [show(form(["a", new File(["x"], "f.txt", { type: "t/x", lastModified: 5 })]).get("a")), form(["a", new File(["x"], "f.txt", { lastModified: 5 })]).get("a").lastModified],
    "file renamed": () => show(form(["a", new File(["x"], "f.txt"), "g.txt"]).get("a")),
    "name for text": () => attempt(() => form(["a", "text", "n.txt"])),
    "append of one": () => attempt(() => new FormData().append("a")),
    "get of nothing": () => attempt(() => new FormData().get()),
    "of another": () => attempt(() => new FormData({})),
    "keys and values": () => { const f = form(["a", "1"], ["b", "2"]); return [[...f.keys()], [...f.values()], [...f.entries()]]; },
    "forEach": () => { const o = []; const f = form(["a", "1"]); f.forEach(function (v, k, all) { o.push(v, k, all === f, this.t); }, { t: 1 }); return o; },
    "changed while iterated": () => { const f = form(["a", "1"], ["b", "2"]); const o = []; for (const [k] of f) { o.push(k); if (o.length < 3) f.append("c" + o.length, "x"); } return o; },
    "iterators": () => { const it = form(["a", "1"]).entries(); return [it.next(), it.next(), it[Symbol.iterator]() === it, Object.prototype.toString.call(it)]; },
    "encoded": async () => (await new Response(form(["a", "1\n2"], ['q"\r\n', "x"], ["f", new File(["c"], 'n"m.txt')])).text()).replace(/-+[-0-9A-Za-z_]{6,}/g, "<b>"),
    "encoded's type": () => new Response(form(["a", "1"])).headers.get("content-type").replace(/boundary=.*/, "boundary=<b>"),
    "round trip": async () => entries(await new Response(form(["a", "\u00e9"], ["f", new File([new Uint8Array([0, 255])], "\u00fc.bin", { type: "x/y" })])).formData()),
    "multipart": async () => entries(await multipart('Content-Disposition: form-data; name="a"\r\n\r\n1', 'Content-Disposition: form-data; name="f"; filename="n.txt"\r\nContent-Type: text/x\r\n\r\nbody')),
    "multipart of a file without a type": async () => entries(await multipart('Content-Disposition: form-data; name="f"; filename="n.txt"\r\n\r\nbody')),
    "multipart's names unquoted": async () => entries(await multipart("Content-Disposition: form-data; name=a\r\n\r\n1")),
    "multipart's names escaped": async () => entries(await multipart('Content-Disposition: form-data; name="a%22b"\r\n\r\n1', 'Content-Disposition: form-data; name="a\\"b"\r\n\r\n2')),
    "multipart with small headers": async () => entries(await multipart('content-disposition: form-data; name="a"\r\n\r\n1')),
    "multipart of other headers": async () => entries(await multipart('X-A: b\r\nContent-Disposition: form-data; name="a"\r\nX-C: d\r\n\r\n1')),
    "multipart of no name": () => caught(multipart("Content-Disposition: form-data\r\n\r\n1")),
    "multipart of no disposition": () => caught(multipart("X-A: b\r\n\r\n1")),
    "multipart of another disposition": () => caught(multipart('Content-Disposition: attachment; name="a"\r\n\r\n1')),
    "multipart of nothing": async () => entries(await parse("--b--\r\n", "multipart/form-data; boundary=b")),
    "multipart cut off": () => caught(parse('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1', "multipart/form-data; boundary=b")),
    "multipart with a beginning": async () => caught(parse('x\r\n--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--', "multipart/form-data; boundary=b")),
    "multipart of bare line ends": async () => caught(parse('--b\nContent-Disposition: form-data; name="a"\n\n1\n--b--\n', "multipart/form-data; boundary=b").then(entries)),
    "multipart's boundary quoted": async () => entries(await parse('--b c\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b c--', 'multipart/form-data; boundary="b c"')),
    "multipart without a boundary": () => caught(parse("x", "multipart/form-data")),
    "multipart of an empty body": () => caught(parse("", "multipart/form-data; boundary=b")),
    "url encoded": async () => entries(await parse("a=1&b=x+y%20z&a=%C3%A9&c", "application/x-www-form-urlencoded")),
    "url encoded of a charset": async () => entries(await parse("a=1", "application/x-www-form-urlencoded; charset=utf-8")),
    "url encoded of nothing": async () => entries(await parse("", "application/x-www-form-urlencoded")),
    "names of backslashes": async () => { const f = form(["b\\\\c", "2"], ["c\\d", "3"], ["e", new File(["x"], "C:\\x\\y.txt")]); const r = new Response(f); return [(await r.clone().text()).match(/name=.*/g), entries(await r.formData()), attempt(() => new Response(form(["a\\", "1"])))]; },
    "of another type": () => caught(parse("a", "text/plain")),
    "of no type": () => caught(new Response(utf8("a")).formData()),
    "of capitals": async () => entries(await parse("a=1", "Application/X-WWW-Form-URLEncoded")),
  },
});

area("blobs", {
  worker: {
    "shape": () => [Object.getOwnPropertyNames(Blob.prototype).sort(), Object.getOwnPropertyNames(File.prototype).sort(), Object.prototype.toString.call(new File([], "a"))],
    "of parts": async () => new Blob(["a", utf8("b"), new Blob(["c"]), utf8("d").buffer, 5, null]).text(),
    "of nothing": () => [new Blob().size, new Blob([]).size, attempt(() => new Blob("a")), attempt(() => new Blob(5)), attempt(() => new Blob({}))],
    "of an iterable": async () => caught((async () => new Blob(new Set(["a", "b"])).text())()),
    "type": () => [new Blob([], { type: "A/B" }).type, new Blob([], { type: "\u00e9" }).type, new Blob([], { type: 5 }).type, new Blob([]).type],
    "slice": async () => { const b = new Blob(["abcdef"]); return [await b.slice(1, 3).text(), await b.slice(-2).text(), await b.slice(2, -1).text(), await b.slice(5, 1).text(), b.slice(0, 1, "x/y").type, await b.slice().text(), b.slice(0, 99).size]; },
    "slice of a file": () => { const s = new File(["abc"], "n", { type: "a/b" }).slice(1); return [s.constructor.name, s.type, s.size]; },
    "arrayBuffer": async () => [await new Blob(["ab"]).arrayBuffer(), await new Blob(["ab"]).bytes()],
    "text of a broken sequence": async () => new Blob([new Uint8Array([0xff, 0x41])]).text(),
    "text keeps the mark": async () => [...await new Blob(["\ufeffa"]).text()].length,
    "stream": async () => { const out = []; for await (const p of new Blob(["ab", "c"]).stream()) out.push(p); return out; },
    "endings": async () => new Blob(["a\r\nb\n"], { endings: "native" }).text(),
    "file": () => { const f = new File(["ab"], "n", { type: "t/x", lastModified: 7 }); return [f.name, f.type, f.size, f.lastModified, f instanceof Blob]; },
    "file's time": () => { const t = new File([], "n").lastModified; return Math.abs(t - Date.now()) < 5000; },
    "file of little": () => [attempt(() => new File([])), attempt(() => new File()), attempt(() => new File("a", "b"))],
    "file's name": () => [new File([], "a/b").name, new File([], 5).name, new File([], "").name],
    "views are copied": async () => { const v = utf8("ab"); const b = new Blob([v]); v[0] = 0x7a; return b.text(); },
    "blob of a response": async () => { const b = await new Response("x", { headers: { "content-type": "A/b; c=D" } }).blob(); return [b.type, b.size, b.constructor.name]; },
    "blob as a body": async () => { const r = new Response(new Blob(["x"], { type: "a/b" })); return [r.headers.get("content-type"), await r.text()]; },
    "blob without a type as a body": () => new Response(new Blob(["x"])).headers.get("content-type"),
    "symbols": () => [attempt(() => new Blob([Symbol("a")])), attempt(() => new File([], Symbol("a")))],
  },
});

area("patterns", {
  worker: {
    "shape": () => typeof URLPattern === "undefined" ? "none" : Object.getOwnPropertyNames(URLPattern.prototype).sort(),
    "path": () => { const p = new URLPattern({ pathname: "/books/:id" }); return [p.test("http://a/books/1"), p.test("http://a/books"), p.exec("http://a/books/1").pathname.groups, p.pathname, p.hostname]; },
    "text and base": () => { const p = new URLPattern("/a/*", "http://x.com"); return [p.protocol, p.hostname, p.port, p.pathname, p.search, p.hash, p.test("http://x.com/a/b"), p.exec("http://x.com/a/b/c")?.pathname.groups]; },
    "full text": () => { const p = new URLPattern("https://*.example.com/:a?x=*#h"); return [p.protocol, p.hostname, p.pathname, p.search, p.hash]; },
    "optional": () => { const p = new URLPattern({ pathname: "/a/:b?" }); return ["/a", "/a/", "/a/c"].map((x) => p.test({ pathname: x })); },
    "repeated": () => { const p = new URLPattern({ pathname: "/:a+" }); return [p.exec({ pathname: "/x/y" })?.pathname.groups, p.test({ pathname: "/" })]; },
    "any number": () => { const p = new URLPattern({ pathname: "/:a*" }); return ["/", "/x", "/x/y"].map((x) => p.exec({ pathname: x })?.pathname.groups ?? null); },
    "group of an expression": () => { const p = new URLPattern({ pathname: "/:n(\\d+)" }); return [p.test({ pathname: "/12" }), p.test({ pathname: "/ab" }), p.hasRegExpGroups]; },
    "braces": () => { const p = new URLPattern({ pathname: "/a{/b}?/c" }); return ["/a/c", "/a/b/c", "/a/b"].map((x) => p.test({ pathname: x })); },
    "case": () => [new URLPattern({ pathname: "/A" }).test({ pathname: "/a" }), attempt(() => new URLPattern({ pathname: "/A" }, { ignoreCase: true }).test({ pathname: "/a" }))],
    "result": () => { const r = new URLPattern({ pathname: "/:a" }).exec("http://h:8/x?q#f"); return [r.inputs, r.protocol, r.hostname, r.port, r.pathname, r.search, r.hash].map((x) => x && JSON.stringify(x)); },
    "no match": () => new URLPattern({ pathname: "/a" }).exec("http://h/b"),
    "nothing": () => { const p = new URLPattern(); return [p.pathname, p.test("http://a/b")]; },
    "bad": () => [attempt(() => new URLPattern({ pathname: "/(" })), attempt(() => new URLPattern("/a")), attempt(() => new URLPattern({ pathname: "/:" })), attempt(() => new URLPattern({ pathname: "/:a/:a" })), attempt(() => new URLPattern(5))],
    "bad input": () => [new URLPattern({ pathname: "/a" }).test("not a url"), new URLPattern({ pathname: "/a" }).exec("x")],
    "base of an init": () => { const p = new URLPattern({ pathname: "b", baseURL: "http://h/a/c" }); return [p.hostname, p.pathname]; },
    "ports": () => { const p = new URLPattern({ protocol: "https", port: "443" }); return [p.port, p.test("https://a/")]; },
    "escapes": () => { const p = new URLPattern({ pathname: "/a\\:b" }); return [p.pathname, p.test({ pathname: "/a:b" })]; },
    "unicode": () => { const p = new URLPattern({ pathname: "/\u00e9/:n" }); return [p.pathname, p.exec("http://a/\u00e9/\u00fc")?.pathname.groups]; },
    "test of two": () => new URLPattern({ pathname: "/a/b" }).test("b", "http://h/a/"),
    "search": () => { const p = new URLPattern({ search: "a=:v" }); return [p.search, p.exec("http://h/?a=1")?.search.groups]; },
    "hostname": () => { const p = new URLPattern({ hostname: ":sub.example.com" }); return [p.exec("http://x.example.com/")?.hostname.groups, p.test("http://x.y.example.com/"), p.test("http://example.com/")]; },
    "accessors": () => { const p = new URLPattern({ pathname: "/a" }); return [p.username, p.password, p.protocol, p.port, p.search, p.hash]; },
  },
});
