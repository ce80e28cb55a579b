import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { freePort } from '../container.ts';
import { ensureLambdaEmulator } from '../toolchain/lambda.ts';
import { waitUntil } from '../wait-until.ts';

const RUNTIME = fileURLToPath(new URL('./runtime.mjs', import.meta.url));
const START_MS = 20_000;

/** A function in AWS's emulator of Lambda. */
export interface EmulatedLambda extends AsyncDisposable {
  /** What it answers to a call, as text. */
  invoke(event: unknown): Promise<string>;
  readonly output: () => string;
}

/** `file`: the module with the handler. */
export async function emulateLambda(
  file: string,
  environment: Readonly<Record<string, string>>,
): Promise<EmulatedLambda> {
  const program = await ensureLambdaEmulator();
  const [port, apiPort] = [await freePort(), await freePort()];
  const args = [
    '--runtime-interface-emulator-address',
    `127.0.0.1:${port}`,
    '--runtime-api-address',
    `127.0.0.1:${apiPort}`,
    process.execPath,
    RUNTIME,
    file,
  ];
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH ?? '', AWS_LAMBDA_FUNCTION_TIMEOUT: '300', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-100_000);
    });
  await waitUntil('the emulator of Lambda to listen', START_MS, () => isAnswering(port));
  return {
    invoke: (event) => invoke(port, event),
    output: () => output,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.pid === undefined) return;
      const ended = once(child, 'exit');
      // With the runtime that it began.
      process.kill(-child.pid, 'SIGKILL');
      await ended;
    },
  };
}

const isAnswering = (port: number): Promise<boolean> =>
  post(port, '/', '').then(
    () => true,
    () => false,
  );

const invoke = (port: number, event: unknown): Promise<string> =>
  post(port, '/2015-03-31/functions/function/invocations', JSON.stringify(event));

function post(port: number, path: string, body: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const sent = request({ host: '127.0.0.1', port, path, method: 'POST', agent: false }, (response) => {
    const parts: Buffer[] = [];
    response.on('data', (part: Buffer) => parts.push(part));
    response.on('error', reject);
    response.on('end', () => resolve(Buffer.concat(parts).toString('utf8')));
  });
  sent.on('error', reject);
  sent.end(body);
  return promise;
}
