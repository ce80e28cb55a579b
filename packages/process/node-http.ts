/**
 * Node's own HTTP. An `import` of it would read each of its exports, and with them load a second HTTP client and a
 * WebSocket, which take 14 MB that no process of ours ever uses.
 */
export const http = process.getBuiltinModule('node:http');
