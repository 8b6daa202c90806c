// os, of a machine that tells nothing.
(function (host, use) {
  const signals = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGABRT: 6, SIGKILL: 9, SIGSEGV: 11, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15 };
  const errno = { ENOENT: 2, EACCES: 13, EEXIST: 17, EINVAL: 22, EPIPE: 32, EADDRINUSE: 98, ECONNRESET: 104, ETIMEDOUT: 110, ECONNREFUSED: 111 };
  return {
    EOL: "\n", devNull: "/dev/null", constants: { signals, errno, priority: {}, dlopen: {}, UV_UDP_REUSEADDR: 4 },
    arch: () => "x64", availableParallelism: () => 1, cpus: () => [], endianness: () => "LE", freemem: () => 0, totalmem: () => 0,
    getPriority: () => 0, setPriority() {}, homedir: () => "/tmp", hostname: () => "localhost", loadavg: () => [0, 0, 0],
    machine: () => "x86_64", networkInterfaces: () => ({}), platform: () => "linux", release: () => "", tmpdir: () => "/tmp",
    type: () => "Linux", uptime: () => 0, version: () => "",
    userInfo: () => ({ uid: -1, gid: -1, username: "", homedir: "/tmp", shell: null }),
  };
})
