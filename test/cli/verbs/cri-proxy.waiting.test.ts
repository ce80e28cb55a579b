import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connectReader, connectRemover } from '../../../packages/cri/client.ts';
import { simulatedNode } from '../../support/simulated-node.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { inProcess, ownLog } from '../fleetgc.ts';
import { jsonOf, readTopic } from '../read-topic.ts';
import { nodeOptions, readiness } from '../service-options.ts';
import { BOUND_MS, startVerb } from '../service-process.ts';

const socketOptions = (): readonly [string, readonly string[]] => {
  const path = join(temporaryDirectory(), 'cri.sock');
  return [path, ['--proxy-socket', path]];
};

test('node-agent reports through cri-proxy what is on the node, and nothing can be removed there', async () => {
  const node = await simulatedNode({ hasContainerdApi: true });
  const image = await node.runtime.pullImage('registry.example/app:1');
  const [path, socket] = socketOptions();
  const proxy = startVerb('cri-proxy', '--runtime-endpoint', node.endpoint, ...socket);
  await readiness(proxy, { status: 200, says: '[+] runtime' });
  const { log, path: logPath } = await ownLog();
  const agent = startVerb(
    'node-agent',
    ...['--log', 'embedded', '--log-path', logPath],
    ...nodeOptions(),
    ...['--runtime-endpoint', path],
  );
  const inventory = await waitUntil(
    'an inventory',
    BOUND_MS,
    async () => (await readTopic(log, 'gc.node.inventory')).map(jsonOf).at(-1) ?? false,
  );
  using remover = connectRemover(path);
  await expect(remover.removeImage(image)).rejects.toMatchObject({ code: 'RUNTIME_FAILED' });
  await expect(remover.removeImage(image)).rejects.toMatchObject({ code: 'RUNTIME_FAILED' });

  expect(inventory).toMatchObject({ status: 'complete' });
  expect(JSON.stringify(inventory)).toContain(image);
  expect(node.runtime.images.has(image)).toBe(true);
  expect(await agent.terminate()).toBe(0);
  expect(await proxy.terminate()).toBe(0);
  const told = proxy.output.stderr.split('\n').filter((line) => line.includes('denied'));
  expect(told.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', call: '/runtime.v1.ImageService/RemoveImage' },
  ]);
});

test('cri-proxy says when the runtime does not answer, and ends when it is told to while somebody waits for events', async () => {
  const node = await simulatedNode();
  const [path, socket] = socketOptions();
  const proxy = startVerb('cri-proxy', '--runtime-endpoint', node.endpoint, ...socket);
  await readiness(proxy, { status: 200, says: '[+] runtime' });
  const reader = connectReader(path);
  onTestFinished(() => reader[Symbol.dispose]());
  const firstEvent = () =>
    reader.containerEvents(new AbortController().signal)[Symbol.asyncIterator]().next();
  const broken = expect(firstEvent()).rejects.toMatchObject({ code: 'RUNTIME_REFUSED' });
  await node.die();
  await broken;
  await expect(reader.version()).rejects.toMatchObject({ code: 'RUNTIME_REFUSED' });
  await readiness(proxy, { status: 503, says: '[-] runtime: the runtime at' });
  await node.revive();
  await reader.version();
  const refused = expect(firstEvent()).rejects.toMatchObject({ code: expect.stringMatching(/^RUNTIME_/) });

  expect(await proxy.terminate()).toBe(0);
  await refused;
});

test.each([
  { given: ['--proxy-socket-mode', '0666'], says: 'with none for everybody' },
  { given: ['--proxy-socket-mode', 'rw'], says: 'must be permissions such as 0660' },
  { given: ['--proxy-socket-group', 'no-such-group'], says: '/etc/group has no group no-such-group' },
  { given: ['--proxy-socket', '/no/such/directory/cri.sock'], says: 'cannot offer the socket' },
])('cri-proxy $given: $says', async ({ given, says }) => {
  const ended = await inProcess(['cri-proxy', '--http-address', 'none', ...socketOptions()[1], ...given]);
  expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(says) });
});
