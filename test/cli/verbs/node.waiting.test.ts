import { expect, test } from 'vitest';
import { inProcess } from '../fleetgc.ts';
import { embeddedLog, NO_BROKER, nodeOptions, readiness } from '../service-options.ts';
import { spawnVerb, startVerb } from '../service-process.ts';

test.each([
  { verb: 'node', start: spawnVerb },
  { verb: 'node-agent', start: startVerb },
])('$verb lives without a container runtime and says what is missing', async ({ verb, start }) => {
  const running = start(verb, ...(await embeddedLog()), ...nodeOptions());
  const { text } = await readiness(running, { status: 503, says: 'no runtime socket' });

  expect(text).toMatch(/\[-\] node-agent: There is no runtime socket at .*no-runtime\.sock\./);
  expect(text).toMatch(/\[[+!]\] state directory/);
  expect((await running.get('/metrics')).text).toMatch(/^fleetgc_state_directory_available_bytes [1-9]/m);
  expect(await running.terminate()).toBe(0);
});

test('node-executor waits for commands without a container runtime', async () => {
  const running = startVerb('node-executor', ...(await embeddedLog()), ...nodeOptions());
  await readiness(running, { status: 200, says: '[+] node-executor' });
  expect((await running.get('/metrics')).text).toMatch(/^fleetgc_state_directory_available_bytes [1-9]/m);

  expect(await running.terminate()).toBe(0);
});

test('on Kafka a node must say to which cluster it belongs', async () => {
  expect(await inProcess(['node', ...NO_BROKER, ...nodeOptions()])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining(
      '--cluster is missing: on Kafka nodes of several clusters can have equal names',
    ),
  });
});
