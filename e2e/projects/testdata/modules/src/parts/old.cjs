const { EventEmitter } = require("node:events");
exports.emitter = new EventEmitter();
exports.kind = typeof module;
