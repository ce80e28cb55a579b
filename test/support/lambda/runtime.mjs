// What AWS's runtime for Node.js does, by the runtime API of Lambda: it asks for the next event, calls the handler, and sends back what it
// gives. `runtime.mjs FILE` takes `handler` of that module.
import { request } from 'node:http';
import { pathToFileURL } from 'node:url';

const API = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime`;

const ask = (method, path, body = '') =>
  new Promise((resolve, reject) => {
    const sent = request(`${API}${path}`, { method }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () =>
        resolve({ headers: response.headers, text: Buffer.concat(parts).toString('utf8') }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });

const { handler } = await import(pathToFileURL(process.argv[2]).href);
for (;;) {
  const { headers, text } = await ask('GET', '/invocation/next');
  const id = headers['lambda-runtime-aws-request-id'];
  try {
    const answer = await handler(JSON.parse(text));
    await ask('POST', `/invocation/${id}/response`, JSON.stringify(answer));
  } catch (error) {
    const told = { errorType: error.name, errorMessage: error.message, stackTrace: [] };
    await ask('POST', `/invocation/${id}/error`, JSON.stringify(told));
  }
}
