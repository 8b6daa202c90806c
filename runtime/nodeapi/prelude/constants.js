// constants, the old module.
(function (host, use) {
  const { signals, errno } = use("os").constants;
  return { ...signals, ...errno, ...use("crypto").constants, F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 };
})
