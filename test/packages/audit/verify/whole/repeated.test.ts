import { expect, test } from 'vitest';
import { sha256Hex } from '../../../../../packages/canonical/ids.ts';
import { imageGcHandler } from '../../../../../packages/deciders/image-gc/decider.ts';
import { nodeOutput } from '../../../../../packages/decision/handler.ts';
import { policySet } from '../../../../../packages/decision/policy-set.ts';
import type { CompleteInventory } from '../../../../../schemas/events/inventory.ts';
import { TOPICS } from '../../../../../schemas/events/topics.ts';
import type { PolicySetRecord } from '../../../../../schemas/policy/policy-set.ts';
import { readTopic } from '../../../../cli/read-topic.ts';
import { appliedPolicy } from '../../../../fixtures/applied-policy.ts';
import { diskStats } from '../../../../fixtures/disk-stats.ts';
import { image, inventory } from '../../../../fixtures/inventory.ts';
import { HOUR, MINUTE, SECOND } from '../../../../fixtures/time.ts';
import { outgoing } from '../../../../support/logs/log-record.ts';
import { type TimedLog, timedLog } from '../../support/timed-log.ts';
import { named, verify } from '../../support/verify-recording.ts';

const record = appliedPolicy({ imageMaximumGCAgeMs: 60_000 });
const set = policySet('node', [record], []);
const old = inventory({ images: [image('sha256:old')] });

async function publishPolicies({ publishAt }: TimedLog, timeMs: number): Promise<void> {
  const { name } = record.policy;
  const policies = [{ name, policyVersion: record.policyVersion, hash: record.hash }];
  const fact: PolicySetRecord = {
    type: 'fleetgc.policy-set',
    version: 1,
    id: 'set',
    hash: set.hash,
    policies,
    pauses: [],
  };
  await publishAt(
    timeMs,
    outgoing({ topic: 'policies', key: name, event: record }),
    outgoing({ topic: 'policyVersions', key: record.hash, event: record }),
    outgoing({ topic: 'policyVersions', key: set.hash, event: fact }),
  );
}

/** An inventory, what image-gc makes of it and, at once or later, the command. */
async function decide(
  timed: TimedLog,
  event: CompleteInventory,
  atMs: { fact: number; command: number | null },
) {
  await timed.publishAt(atMs.fact, outgoing(nodeOutput('inventory', event)));
  const fact = (await readTopic(timed.log, TOPICS.inventory.name)).at(-1);
  if (fact === undefined) throw new Error('there is no inventory');
  const { topic, partition, offset, value } = fact;
  const position = { topic, partition, offset: String(offset), sha256: sha256Hex(value ?? '') };
  const [recorded = [], following = []] = imageGcHandler(() => set)({ event, position });
  await timed.publishAt(atMs.fact + SECOND, ...recorded.map(outgoing));
  const commands = following.map(outgoing);
  if (atMs.command !== null) await timed.publishAt(atMs.command, ...commands);
  return commands;
}

test('an inventory that was published twice is decided twice, with one command: nothing deviates', async () => {
  const timed = await timedLog();
  const startMs = Date.now() - HOUR;
  await publishPolicies(timed, startMs);
  await decide(timed, old, { fact: startMs, command: startMs + 2 * SECOND });
  await decide(timed, old, { fact: startMs + 3 * SECOND, command: startMs + 5 * SECOND });
  for (const minutes of [30, 45])
    await decide(
      timed,
      { ...old, images: [], id: `inventory-${minutes}` },
      { fact: startMs + minutes * MINUTE, command: null },
    );
  const found = await verify(timed.log);

  expect(named(found)).toEqual([]);
  expect(found.counts).toMatchObject({
    inventories: 4,
    decisions: 4,
    verified: 4,
    commands: 1,
    duplicates: 1,
  });
});

test('a command before its record, by another broker’s clock: nothing deviates', async () => {
  const timed = await timedLog();
  const startMs = Date.now() - HOUR;
  await publishPolicies(timed, startMs);
  await decide(timed, old, { fact: startMs, command: startMs - SECOND });

  expect(named(await verify(timed.log))).toEqual([]);
});

test('a decider that dies twice before its command and comes back after a while: record and command are repeated, nothing deviates', async () => {
  const timed = await timedLog();
  const startMs = Date.now() - HOUR;
  await publishPolicies(timed, startMs);
  const commanded = await decide(timed, old, { fact: startMs, command: null });
  const [again] = await readTopic(timed.log, TOPICS.decisions.name);
  if (again === undefined) throw new Error('there is no record');
  await timed.publishAt(startMs + 15 * MINUTE, outgoing(nodeOutput('diskStats', diskStats())));
  for (const minutes of [20, 22])
    await timed.publishAt(startMs + minutes * MINUTE, { ...again, key: again.key ?? '' });
  await timed.publishAt(startMs + 22 * MINUTE + SECOND, ...commanded);
  for (const minutes of [25, 40])
    await decide(
      timed,
      { ...old, images: [], id: `inventory-${minutes}` },
      { fact: startMs + minutes * MINUTE, command: startMs + minutes * MINUTE + 2 * SECOND },
    );
  const found = await verify(timed.log);

  expect(named(found)).toEqual([]);
  expect(found.counts).toMatchObject({ commands: 1, open: 0 });
});
