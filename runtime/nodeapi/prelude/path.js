// path. Both systems share what does not depend on drives.
(function (host, use) {
  const { check } = use("errors");
  const cwd = () => use("process").cwd();
  // squash resolves "." and ".." of a list of parts.
  const squash = (parts, above, separator) => {
    const out = [];
    for (const part of parts) {
      if (part === "" || part === ".") continue;
      if (part !== "..") { out.push(part); continue; }
      if (out.length > 0 && out.at(-1) !== "..") out.pop();
      else if (above) out.push("..");
    }
    return out.join(separator);
  };
  const make = (windows) => {
    const sep = windows ? "\\" : "/";
    const split = (text) => text.split(windows ? /[\\/]/ : "/");
    const isSep = windows ? (c) => c === "/" || c === "\\" : (c) => c === "/";
    // root splits a path into device, root separator and the rest.
    const root = (path) => {
      if (!windows) return { device: "", root: isSep(path[0] ?? "") ? "/" : "", rest: path };
      let m = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)/.exec(path);
      if (m && m[1] !== "." && m[1] !== "?") {
        const rest = path.slice(m[0].length);
        return { device: `\\\\${m[1]}\\${m[2]}`, root: "\\", rest: rest.replace(/^[\\/]+/, ""), unc: m[0], tail: rest };
      }
      m = /^[A-Za-z]:/.exec(path);
      const device = m ? m[0] : "";
      const rest = path.slice(device.length);
      return { device, root: isSep(rest[0] ?? "") ? "\\" : "", rest: rest.replace(/^[\\/]+/, "") };
    };
    // rootLength counts the characters of the root as they stand.
    const rootLength = (path) => {
      const r = root(path);
      if (r.unc !== undefined) return r.unc.length + (r.tail !== "" ? 1 : 0);
      return r.device.length + (r.root ? 1 : 0);
    };
    const normalize = (path) => {
      check.string(path, "path");
      if (path.length === 0) return ".";
      const r = root(path);
      const trailing = isSep(path.at(-1));
      let tail = squash(split(r.rest), r.root === "", sep);
      if (tail === "" && r.root === "") tail = ".";
      if (tail !== "" && trailing) tail += sep;
      if (tail === ".") return trailing && r.device === "" ? "." + sep : r.device + (trailing ? "." + sep : ".");
      return r.device + r.root + tail;
    };
    const isAbsolute = (path) => {
      check.string(path, "path");
      return root(path).root !== "";
    };
    const join = (...paths) => {
      let joined, first;
      for (const path of paths) {
        check.string(path, "path");
        if (path.length > 0) {
          if (joined === undefined) joined = first = path;
          else joined += sep + path;
        }
      }
      if (joined === undefined) return ".";
      // Only a first part that says so makes a network path.
      if (windows && !/^[\\/]{2}[^\\/]/.test(first)) joined = joined.replace(/^[\\/]{2,}/, "\\");
      return normalize(joined);
    };
    const resolve = (...paths) => {
      let device = "", tail = "", absolute = false;
      for (let n = paths.length - 1; n >= -1 && !(absolute && (!windows || device)); n--) {
        let path;
        if (n >= 0) { path = paths[n]; check.string(path, `paths[${n}]`); if (path.length === 0) continue; }
        else path = windows ? (device ? device + "\\" : "C:" + cwd().replace(/\//g, "\\")) : cwd();
        const r = root(path);
        if (r.device) {
          if (device && device.toLowerCase() !== r.device.toLowerCase()) continue;
          device ||= r.device;
        }
        if (absolute) continue;
        tail = r.rest + sep + tail;
        absolute = r.root !== "";
      }
      tail = squash(split(tail), !absolute, sep);
      return absolute ? device + sep + tail : device + tail || ".";
    };
    const trim = (path, from) => {
      let end = path.length;
      while (end > from && isSep(path[end - 1])) end--;
      return end;
    };
    const lastSep = (path, from, end) => {
      let n = end - 1;
      while (n >= from && !isSep(path[n])) n--;
      return n;
    };
    const dirname = (path) => {
      check.string(path, "path");
      if (path.length === 0) return ".";
      const from = rootLength(path);
      const end = trim(path, from);
      let at = lastSep(path, from, end);
      if (at < from) return from > 0 ? path.slice(0, from) : ".";
      while (at > from && isSep(path[at - 1])) at--;
      if (!windows && at === 1 && path[0] === "/" && path[1] === "/") return "//";
      return path.slice(0, at);
    };
    const baseOf = (path) => {
      const from = windows ? (/^[A-Za-z]:/.test(path) ? 2 : 0) : 0;
      const end = trim(path, from);
      return path.slice(Math.max(lastSep(path, from, end) + 1, from), end);
    };
    const basename = (path, suffix) => {
      if (suffix !== undefined) check.string(suffix, "suffix");
      check.string(path, "path");
      const base = baseOf(path);
      if (suffix && path === suffix) return "";
      return suffix && base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base;
    };
    const extname = (path) => {
      check.string(path, "path");
      const base = baseOf(path);
      const dot = base.lastIndexOf(".");
      return dot <= 0 || base === ".." ? "" : base.slice(dot);
    };
    const relative = (from, to) => {
      check.string(from, "from");
      check.string(to, "to");
      if (from === to) return "";
      from = resolve(from);
      to = resolve(to);
      const same = windows ? (a, b) => a.toLowerCase() === b.toLowerCase() : (a, b) => a === b;
      if (same(from, to)) return "";
      const a = split(from).filter(Boolean), b = split(to).filter(Boolean);
      let n = 0;
      while (n < a.length && n < b.length && same(a[n], b[n])) n++;
      if (windows && n === 0) return to;
      return [...Array(a.length - n).fill(".."), ...b.slice(n)].join(sep);
    };
    const parse = (path) => {
      check.string(path, "path");
      const out = { root: "", dir: "", base: "", ext: "", name: "" };
      if (path.length === 0) return out;
      const from = rootLength(path);
      out.root = path.slice(0, from);
      const end = trim(path, from);
      const at = lastSep(path, from, end);
      out.base = path.slice(Math.max(at + 1, from), end);
      out.ext = extname(out.base);
      out.name = out.ext ? out.base.slice(0, -out.ext.length) : out.base;
      out.dir = at >= from ? path.slice(0, at) : out.root;
      return out;
    };
    const format = (o) => {
      check.object(o, "pathObject");
      const dir = o.dir || o.root;
      const ext = o.ext ? (o.ext[0] === "." ? "" : ".") + o.ext : "";
      const base = o.base || `${o.name || ""}${ext}`;
      if (!dir) return base;
      return dir === o.root ? dir + base : dir + sep + base;
    };
    const toNamespacedPath = (path) => {
      if (!windows || typeof path !== "string" || path.length === 0) return path;
      const full = resolve(path);
      if (/^[A-Za-z]:\\/.test(full)) return "\\\\?\\" + full;
      return /^\\\\[^?.]/.test(full) ? "\\\\?\\UNC\\" + full.slice(2) : path;
    };
    return {
      resolve, normalize, isAbsolute, join, relative, toNamespacedPath, dirname, basename, extname, format, parse, sep,
      delimiter: windows ? ";" : ":", win32: null, posix: null,
      matchesGlob() { throw use("errors").notImplemented("path.matchesGlob"); },
    };
  };
  const posix = make(false), win32 = make(true);
  posix.posix = win32.posix = posix;
  posix.win32 = win32.win32 = win32;
  return posix;
})
