import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { DoctorReport } from '../../../../schemas/reports/doctor.ts';
import { type Broker, startBroker } from '../../../support/kafka/kafka.ts';
import { type ContainerdNode, startContainerdNode } from '../../../support/nodes/containerd-node.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { type Ended, fleetgc } from '../../fleetgc.ts';

let broker: Broker;
let node: ContainerdNode;
beforeAll(async () => {
  [broker, node] = await Promise.all([startBroker(), startContainerdNode()]);
});
afterAll(() => Promise.all([broker, node].map((one) => one?.[Symbol.asyncDispose]())));

const run = (...args: readonly string[]): Promise<Ended> =>
  fleetgc([...args, '--kafka-brokers', broker.address, '--kafka-replication-factor', '1']);

async function looked(...more: readonly string[]) {
  const args = ['--cluster', 'prod', '--node-name', 'web-1', '--runtime-endpoint', node.endpoint];
  const { exitCode, stdout, stderr } = await run('doctor', 'node', '-o', 'json', ...args, ...more);
  expect(stdout, stderr).not.toBe('');
  const report = DoctorReport.parse(JSON.parse(stdout));
  return { exitCode, of: (id: string) => report.checks.find((check) => check.id === id) };
}

test('doctor sees a real containerd, a real Kafka before and after its topics are made, and the policy', async () => {
  const before = await looked();

  expect(before.exitCode).toBe(1);
  expect(before.of('runtime')).toMatchObject({
    outcome: 'ok',
    seen: expect.stringMatching(/^containerd v?\d/),
  });
  expect(before.of('image-layers')).toMatchObject({ outcome: 'ok' });
  expect(before.of('event-log')).toMatchObject({ outcome: 'ok' });
  expect(before.of('topics')).toMatchObject({
    outcome: 'problem',
    todo: expect.stringContaining('topics create'),
  });
  // These brokers keep no access rules, so whoever reaches them may do anything.
  expect(before.of('rights')).toMatchObject({ outcome: 'ok' });

  expect((await run('topics', 'create')).exitCode).toBe(0);
  const policy = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(policy, 'name: web\nmode: enforce\nselector: {nodeNames: ["web-*"]}\n');
  expect((await run('policy', 'apply', policy)).exitCode).toBe(0);
  const after = await looked();

  for (const id of ['topics', 'rights', 'clock']) expect(after.of(id), id).toMatchObject({ outcome: 'ok' });
  expect(after.of('policy')).toMatchObject({ outcome: 'ok', seen: 'web, mode enforce' });
  expect((await looked('--node-name', 'db-1')).of('policy')).toMatchObject({ outcome: 'warning' });
});

test('a runtime that hangs and a broker that does not answer are told in a bounded time', async () => {
  await node.freeze();
  onTestFinished(() => node.thaw());

  const { of, exitCode } = await looked('--kafka-brokers', '127.0.0.1:1');

  expect(exitCode).toBe(1);
  expect(of('runtime')).toMatchObject({ outcome: 'problem' });
  expect(of('filesystems')).toMatchObject({ outcome: 'skipped' });
  expect(of('machine-id')?.outcome).toBe('ok');
});
