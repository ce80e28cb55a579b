import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { beforeEach, expect, test } from 'vitest';
import type { SimulatedNode } from '../../../lab/sim/node.ts';
import { linuxClock } from '../../../packages/machine/clock.ts';
import { openStateDirectory } from '../../../packages/machine/state-directory.ts';
import { Plan } from '../../../schemas/reports/plan.ts';
import { IMAGE_HISTORY_FILE } from '../../../schemas/state/image-history.ts';
import { openHistory } from '../../../services/node/agent/history.ts';
import { SECOND } from '../../fixtures/time.ts';
import { simulatedNode } from '../../support/simulated-node.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { inProcess } from '../fleetgc.ts';

const POLICY =
  'name: aged\nmode: enforce\nimageMinimumGCAge: 30s\nimageMaximumGCAge: 90s\nimageGCHighThresholdPercent: 100\n';
const UNUSED = 'registry.example/unused:1';

let node: SimulatedNode;
let policy: string;

/** A node with an image that nobody uses, and a pod that runs beside its dead first attempt. */
beforeEach(async () => {
  node = await simulatedNode({ hasContainerdApi: true });
  await node.runtime.pullImage(UNUSED);
  const wish = { name: 'web', namespace: 'default', containers: { app: 'registry.example/web:1' } };
  const uid = await node.kubelet.startPod(wish);
  node.kubelet.crashPod(uid);
  await node.kubelet.restartContainers(uid);
  policy = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(policy, POLICY);
});

async function planned(...args: readonly string[]): Promise<Plan> {
  const { stdout, stderr, exitCode } = await inProcess([
    ...['plan', '-o', 'json', '--policy', policy, '--runtime-endpoint', node.endpoint],
    ...['--pod-logs-dir', node.podLogsDir, '--container-logs-dir', node.containerLogsDir],
    ...args,
  ]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return Plan.parse(JSON.parse(stdout));
}
const verdictIn = ({ remove, keep }: Plan, name: string): string | undefined =>
  [
    ...remove.map((one) => ({ ...one, verdict: 'goes' })),
    ...keep.map((one) => ({ ...one, verdict: 'stays' })),
  ]
    .filter((one) => one.name.endsWith(name))
    .map(({ verdict, rule }) => `${verdict} ${rule}`)
    .join(', ');

/** As an agent keeps it that saw the image first so long ago, never in use, and has looked ever since. */
function keepHistory(directory: string, agoMs: number): void {
  const { wallTimeMs, sinceBootMs, bootId } = linuxClock().now();
  const before = (ms: number) => ({ bootId, wallTimeMs: wallTimeMs - ms, sinceBootMs: sinceBootMs - ms });
  const history = openHistory({
    state: openStateDirectory(directory, '3d1219c7c4c5404aaa1f6d2a48adfda4'),
    now: before(agoMs),
    removed: () => [],
    logger: pino({ level: 'silent' }),
  });
  const images = [{ id: node.runtime.findImage(UNUSED)?.id ?? '', runtimeHandler: '' }];
  for (let ms = agoMs; ms >= 0; ms -= 5 * SECOND) history.detect(images, new Set(), before(ms));
  history.save('end');
}

const contentsOf = (directory: string): readonly string[] =>
  readdirSync(directory).map((name) => `${name} ${hash('sha256', readFileSync(join(directory, name)))}`);

test('[C14, A8] one look at this machine: what it cannot know stays, and it says so', async () => {
  const plan = await planned('--node-name', 'here');

  expect(plan.inventory).toMatchObject({ cluster: 'local', node: 'here' });
  expect(verdictIn(plan, 'unused:1')).toBe('stays D10');
  expect(verdictIn(plan, 'default/web/app#0')).toBe('stays G7');
  expect(verdictIn(plan, 'default/web/app#1')).toBe('stays G3');
  expect(plan.remove).toEqual([]);
  expect(plan.notes.map(({ rule }) => rule)).toEqual(['C14', 'A8', 'D6']);
  expect([...node.runtime.images.values()].flatMap(({ repoTags }) => repoTags)).toContain(UNUSED);
});

test('[C14] before any agent has run --assume-old shows what goes once it is old enough, and the plan says so', async () => {
  const table = (...args: readonly string[]) =>
    inProcess([
      ...['plan', '--policy', policy, '--runtime-endpoint', node.endpoint],
      ...['--pod-logs-dir', node.podLogsDir, '--container-logs-dir', node.containerLogsDir],
      ...args,
    ]);
  expect((await table()).stdout).toContain(
    'Would be removed: nothing yet, since nobody knows how old anything is (--assume-old shows what would go once it is old enough).',
  );
  const assumed = await planned('--assume-old');
  expect(verdictIn(assumed, 'unused:1')).toBe('goes E3');
  expect(assumed.notes[0]).toMatchObject({
    rule: 'C14',
    message: expect.stringContaining('--assume-old was given'),
  });

  const directory = temporaryDirectory();
  keepHistory(directory, 5 * SECOND);
  const known = await planned('--assume-old', '--state-directory', directory);
  expect(verdictIn(known, 'unused:1')).toBe('stays D10');
  expect(known.notes[0]?.message).toContain('--assume-old changes nothing');
  expect((await table('--assume-old', '--state-directory', directory)).stdout).not.toContain('nobody knows');

  const given = await inProcess(['plan', '--inventory', '-', '--assume-old']);
  expect(given).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--assume-old') });
});

test.each([
  { agoMs: 120 * SECOND, verdict: 'goes E3' },
  { agoMs: 60 * SECOND, verdict: 'stays D6' },
  { agoMs: 5 * SECOND, verdict: 'stays D10' },
])('[M1, E3] with the record of its agent an image of $agoMs ms $verdict', async ({ agoMs, verdict }) => {
  const directory = temporaryDirectory();
  keepHistory(directory, agoMs);
  const before = contentsOf(directory);

  const plan = await planned('--state-directory', directory);

  expect(verdictIn(plan, 'unused:1')).toBe(verdict);
  expect(plan.notes.map(({ rule }) => rule)).toEqual(['A8', 'D6']);
  expect(contentsOf(directory)).toEqual(before);
});

test('[M7, M12] layers and origins are looked at, where the runtime tells them and nobody says otherwise', async () => {
  const saysSomething = ({ notes }: Plan) => notes.some(({ rule }) => rule === 'M7');
  const told = await planned('--trigger', 'forced');
  expect(saysSomething(told)).toBe(false);
  expect(verdictIn(told, 'unused:1')).not.toContain('M12');
  node.faults.onCall('snapshotUsage', { kind: 'error', message: 'no sizes' });
  const untold = await planned('--trigger', 'forced');
  expect(untold.notes.at(-1)).toMatchObject({
    rule: 'M7',
    message: expect.stringMatching(/no sizes: images count by their listed sizes/),
  });
  expect(saysSomething(await planned('--no-image-layers'))).toBe(false);
});

test('[P3, K2] what is in use beside CRI is looked at, and nothing goes while it cannot be read', async () => {
  node.runtime.otherContainers.set('by-hand', node.runtime.findImage(UNUSED)?.repoTags[0] ?? '');
  expect(verdictIn(await planned('--trigger', 'forced'), 'unused:1')).toBe('stays C8');
  node.faults.onCall('listStoredContainers', { kind: 'error', message: 'no containers' });
  const { exitCode, stderr } = await inProcess(['plan', '--runtime-endpoint', node.endpoint]);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('nothing would go: runtime-partial');
  expect(stderr).toContain('no containers');
});

test('a state directory in which no agent has kept anything is told, and is not made', async () => {
  const directory = join(temporaryDirectory(), 'none');
  const plan = await planned('--state-directory', directory);

  expect(plan.notes[0]?.message).toContain(`none has kept anything in ${directory} yet`);
  expect(existsSync(directory)).toBe(false);
});

test('[F1, C14] a kubelet that starts now would not know of any age either', async () => {
  const kubelet = await planned('--profile', 'kubelet', '--trigger', 'forced');
  expect(verdictIn(kubelet, 'unused:1')).toBe('stays D10');
  expect(verdictIn(kubelet, 'default/web/app#0')).toBe('stays G7');
  expect(verdictIn(kubelet, 'default/web/app#1')).toBe('stays G3');
});

test('a record that cannot be read, and a runtime that is gone, are errors', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, IMAGE_HISTORY_FILE), 'damaged');
  const args = ['plan', '--runtime-endpoint', node.endpoint, '--state-directory', directory];
  expect(await inProcess(args)).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringContaining('cannot read the state file'),
  });

  await node.die();
  expect(await inProcess(['plan', '--runtime-endpoint', node.endpoint])).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringContaining('There is no runtime socket at '),
  });
});
