import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { inProcess } from '../fleetgc.ts';
import { embeddedLog, readiness } from '../service-options.ts';
import { spawnVerb, startVerb } from '../service-process.ts';

test.each([
  {
    verb: 'decide',
    start: spawnVerb,
    parts: ['pressure', 'container-gc', 'image-gc', 'graph-gc', 'pod-gc', 'expiry-gc'],
  },
  { verb: 'pressure', start: startVerb, parts: ['pressure'] },
  { verb: 'container-gc', start: startVerb, parts: ['container-gc'] },
  { verb: 'image-gc', start: startVerb, parts: ['image-gc'] },
  { verb: 'graph-gc', start: startVerb, parts: ['graph-gc'] },
  { verb: 'pod-gc', start: startVerb, parts: ['pod-gc'] },
  { verb: 'expiry-gc', start: startVerb, parts: ['expiry-gc'] },
])('$verb becomes ready on an empty log and stops in order when told to', async ({ verb, start, parts }) => {
  const running = start(verb, ...(await embeddedLog()));
  const { text } = await readiness(running, { status: 200, says: 'ready' });

  expect(text).toBe(
    `${['event log', 'policies', ...parts].map((part) => `[+] ${part}`).join('\n')}\nready\n`,
  );
  expect(await running.terminate()).toBe(0);
  expect(running.output.stdout).toBe('');
});

test('an address that is taken is told in one sentence', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await once(taken, 'listening');
  const address = taken.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const { exitCode, stderr } = await inProcess([
    'decide',
    ...(await embeddedLog()),
    ...['--http-address', `127.0.0.1:${port}`],
  ]);

  expect(exitCode).toBe(2);
  expect(stderr).toContain(
    `cannot listen on 127.0.0.1:${port} (EADDRINUSE); choose another address with --http-address, or none`,
  );
});
