/** Serves a file as `/pods`, as the kubelet's read-only port does: `node fake-kubelet-process.ts PORT FILE`. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [, , port = '', file = ''] = process.argv;

const server = createServer(({ url }, response) => {
  if (url === '/pods') response.setHeader('content-type', 'application/json').end(readFileSync(file));
  else response.writeHead(404).end();
});
// A connection that the server gives up looks like another kubelet to the client.
server.keepAliveTimeout = 0;
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
