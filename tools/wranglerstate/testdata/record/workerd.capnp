using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "recorded", worker = .recorded),
    (name = "disk", disk = (writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "recorded")],
);

const recorded :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
  compatibilityDate = "2026-10-01",
  durableObjectNamespaces = [
    (className = "Room", uniqueKey = "recorded-Room"),
    (className = "Ledger", uniqueKey = "recorded-Ledger", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [
    (name = "Room", durableObjectNamespace = "Room"),
    (name = "Ledger", durableObjectNamespace = "Ledger"),
  ],
);
