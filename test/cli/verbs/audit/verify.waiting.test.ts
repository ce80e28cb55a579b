import { expect, test } from 'vitest';
import { sha256Hex } from '../../../../packages/canonical/ids.ts';
import { imageGcHandler } from '../../../../packages/deciders/image-gc/decider.ts';
import { nodeOutput, type Output } from '../../../../packages/decision/handler.ts';
import { policySet } from '../../../../packages/decision/policy-set.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { type OwnLog, ownLog } from '../../fleetgc.ts';
import { readTopic } from '../../read-topic.ts';

const record = appliedPolicy({ imageMaximumGCAgeMs: 60_000 });
const set = policySet('node', [record], []);
const old = inventory({ images: [image('sha256:old')] });

const versions: readonly Output[] = [
  { topic: 'policies', key: record.policy.name, event: record },
  { topic: 'policyVersions', key: record.hash, event: record },
  {
    topic: 'policyVersions',
    key: set.hash,
    event: {
      type: 'fleetgc.policy-set',
      version: 1,
      id: 'policy-set-1',
      hash: set.hash,
      policies: [{ name: record.policy.name, policyVersion: record.policyVersion, hash: record.hash }],
      pauses: [],
    },
  },
];

const publish = ({ log }: OwnLog, outputs: readonly Output[]): Promise<unknown> =>
  log.publish(outputs.map(outgoing));

/** An inventory and what image-gc made of it, as they lie on the log. */
async function decided(
  own: OwnLog,
  kinds: readonly Output['topic'][] = ['decisions', 'commands'],
  seen: CompleteInventory = old,
): Promise<void> {
  await publish(own, [nodeOutput('inventory', seen)]);
  const [fact] = await readTopic(own.log, TOPICS.inventory.name);
  if (fact === undefined) throw new Error('there is no inventory');
  const { topic, partition, offset, value } = fact;
  const position = { topic, partition, offset: String(offset), sha256: sha256Hex(value ?? '') };
  const outputs = imageGcHandler(() => set)({ event: seen, position }).flat();
  await publish(
    own,
    outputs.filter((output) => kinds.includes(output.topic)),
  );
}

const verify = ({ run }: OwnLog, ...args: readonly string[]) =>
  run('audit', 'verify', '--threads', '1', ...args);

test('all verified: exit code 0, and what was verified', async () => {
  const own = await ownLog();
  await publish(own, versions);
  await decided(own);
  const { stdout, ...ended } = await verify(own);

  expect(ended).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout.replace(/^(Read from) .*Z:$/m, '$1:')).toBe(
    [
      'Every decision came out the same again, and FleetGC removed only what they say.',
      '',
      'Read from:',
      '1  decisions',
      '1  of them came out the same again',
      '1  inventories',
      '0  disk statistics',
      '1  commands',
      '0  orders to observe',
      '0  results',
      '0  of them: an object was removed',
      '1  effects that may still come: the event log ends right after their cause',
      '',
    ].join('\n'),
  );
});

test('a deviation: exit code 1, and both positions', async () => {
  const own = await ownLog();
  await publish(own, versions);
  await decided(own, ['commands']);
  const { exitCode, stdout, stderr } = await verify(own);

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(
    /^DEVIATIONS \(1\)\n {2}\S+Z {2}gc\.node\.commands\/\d+@0 {2}prod\/web-1 {2}not-decided\n/,
  );
  expect(stderr).toMatch(
    /^fleetgc audit verify: 1 deviation: what lies on the event log is not what FleetGC decided and did/,
  );
});

test('nothing wrong and something not to be verified: exit code 3, and why', async () => {
  const own = await ownLog();
  await decided(own);
  const { exitCode, stdout, stderr } = await verify(own);

  expect(exitCode).toBe(3);
  expect(stdout).toContain('gc.policy-versions does not say what the set of policies');
  expect(stderr).toBe(
    'fleetgc audit verify: nothing is wrong, but not all could be verified: 1: their policies are not known any more\n',
  );
});

test('an effect that could not be checked: exit code 3, and how many', async () => {
  const own = await ownLog();
  await publish(own, versions);
  // Orders are kept for a day, and those of this one's time nobody can miss.
  await decided(own, ['decisions', 'commands', 'observe'], inventory({ images: [], reclaim: reclaim() }));
  const { exitCode, stdout, stderr } = await verify(own, '--from', '1h');

  expect(stderr).toMatch(
    /not all could be verified: 1 command, order, fact or result that could not be checked: what belongs to it was deleted/,
  );
  expect(stdout).toContain('1  effects that could not be checked');
  expect(exitCode).toBe(3);
});

test('json and ndjson have all of it, also from threads', async () => {
  const own = await ownLog();
  await publish(own, versions);
  await decided(own, ['commands']);
  const json = JSON.parse((await verify(own, '-o', 'json')).stdout);
  const ndjson = (await own.run('audit', 'verify', '--threads', '2', '-o', 'ndjson')).stdout;
  const lines = ndjson
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

  expect(json).toMatchObject({
    deviations: { total: 1, byKind: { 'not-decided': 1 } },
    counts: { commands: 1 },
  });
  expect(lines).toEqual([
    { finding: 'deviation', ...json.deviations.first[0] },
    expect.objectContaining({ finding: 'summary', counts: json.counts, deviations: { 'not-decided': 1 } }),
  ]);
});

test('which time was read', async () => {
  const own = await ownLog();
  await publish(own, versions);
  await decided(own);
  const times = (await readTopic(own.log, TOPICS.inventory.name)).map(({ timestampMs }) => timestampMs);
  const json = JSON.parse((await verify(own, '-o', 'json')).stdout);
  const table = await verify(own);
  const empty = await verify(own, '--to', '2020-01-01');

  expect(json.firstRecordMs).toBe(times[0]);
  expect(json.lastRecordMs).toBeGreaterThanOrEqual(json.firstRecordMs);
  expect(table.stdout).toContain(
    `Read from ${timeText(json.firstRecordMs)} to ${timeText(json.lastRecordMs)}:\n`,
  );
  expect(empty.stdout).toBe('');
  expect(empty.stderr).toContain(
    `in that time; there are inventories from ${timeText(json.firstRecordMs)} to `,
  );
});

test.each<{ name: string; args: string[]; exitCode: number; says: string }>([
  {
    name: 'an empty log',
    args: [],
    exitCode: 3,
    says: 'there is nothing to verify: no record of any node or cluster lies on the event log',
  },
  {
    name: 'an empty time',
    args: ['--from', '2020-01-01', '--to', '2020-01-02'],
    exitCode: 3,
    says: 'there is nothing to verify: no record of any node or cluster lies in that time',
  },
  {
    name: 'a time that ends before it begins',
    args: ['--from', '1h', '--to', '2h'],
    exitCode: 2,
    says: 'nothing lies between',
  },
  { name: 'an offset', args: ['--from', '@17'], exitCode: 2, says: '--from must be a time such as' },
])('$name', async ({ args, exitCode, says }) => {
  const own = await ownLog();
  const ended = await verify(own, ...args);

  expect(ended.exitCode).toBe(exitCode);
  expect(ended.stderr).toContain(says);
});
