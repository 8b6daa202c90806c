// module.
(function (host, use) {
  const { coded, notImplemented } = use("errors");
  const strip = (name) => String(name).replace(/^node:/, "");
  const isBuiltin = (name) => host.moduleNames().includes(strip(name));
  const createRequire = () => {
    const require = (name) => {
      const m = host.builtin(String(name));
      if (m === undefined) throw coded(Error, "MODULE_NOT_FOUND", `Cannot find module '${name}'`);
      return m;
    };
    require.resolve = (name) => name;
    require.cache = {};
    return require;
  };
  function Module() {}
  const absent = (name) => ({ [name]() { throw notImplemented("module." + name); } })[name];
  return Object.assign(Module, {
    Module, createRequire, isBuiltin, builtinModules: host.moduleNames(), register: absent("register"),
    findSourceMap: () => undefined, syncBuiltinESMExports() {}, _resolveFilename: absent("_resolveFilename"), _load: absent("_load"),
    enableCompileCache: () => ({ status: 3 }), SourceMap: absent("SourceMap"),
  });
})
