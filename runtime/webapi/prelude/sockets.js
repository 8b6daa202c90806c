// WebSocket and WebSocketPair as far as libraries that are loaded look for them: nothing makes a socket yet.
(function (host, use) {
  const { DOMException } = use("dom");
  const { EventTarget, last } = use("events");
  const absent = () => new Error("WebSockets are not supported yet");
  const refuse = () => {
    throw new TypeError(host.illegalInvocation);
  };
  const invalid = (text) => new DOMException("WebSocket Constructor: " + text, "SyntaxError");
  // check throws what the constructor does for a bad address.
  const check = (url) => {
    if (!URL.canParse(url)) throw invalid("The url is invalid.");
    const { protocol, hash } = new URL(url);
    if (!["ws:", "wss:", "http:", "https:"].includes(protocol)) throw invalid("The url scheme must be ws or wss.");
    if (hash !== "") throw invalid("The url fragment must be empty.");
  };

  class WebSocket extends EventTarget {
    constructor(...args) {
      super();
      if (args.length === 0) {
        throw new TypeError("Failed to construct 'WebSocket': constructor parameter 1 is not of type 'string'.");
      }
      check(String(args[0]));
      throw absent();
    }
  }
  class WebSocketPair {
    constructor() {
      throw absent();
    }
  }
  const { defineProperty } = Object;
  for (const name of ["accept", "send", "close", "serializeAttachment", "deserializeAttachment"]) {
    const method = { [name]: () => refuse() }[name];
    defineProperty(WebSocket.prototype, name, { value: method, writable: true, enumerable: true, configurable: true });
  }
  ["CONNECTING", "OPEN", "CLOSING", "CLOSED"].forEach((name, value) => {
    for (const key of ["READY_STATE_" + name, name]) {
      for (const o of [WebSocket, WebSocket.prototype]) {
        defineProperty(o, key, { value, enumerable: true, configurable: true });
      }
    }
  });
  for (const name of ["readyState", "bufferedAmount", "url", "protocol", "extensions", "binaryType"]) {
    defineProperty(WebSocket.prototype, name, { get: refuse, enumerable: true, configurable: true });
  }
  for (const C of [WebSocket, WebSocketPair]) {
    defineProperty(C.prototype, Symbol.toStringTag, { value: C.name, configurable: true });
    last(C);
  }
  return { WebSocket, WebSocketPair };
});
