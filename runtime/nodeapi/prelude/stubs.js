// Modules of which there are only the names: their functions throw.
(function (host, use) {
  const { notImplemented } = use("errors");
  const names = {
  };
  const make = (module) => {
    const out = {};
    for (const name of names[module] ?? []) {
      out[name] = { [name]() { throw notImplemented(`${module}.${name}`); } }[name];
    }
    return out;
  };
  return { make };
})
