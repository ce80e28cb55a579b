import { expect, test } from 'vitest';
import { DECIDER } from '../../../packages/deciders/pressure/decide.ts';
import { pressureHandler } from '../../../packages/deciders/pressure/decider.ts';
import { overtakenHandler } from '../../../packages/decision/overtaking.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { startConsumer } from '../../../packages/records/consume.ts';
import { NO_MARKS } from '../../../packages/records/dead-letters/crash-marks.ts';
import { createDeadLetters } from '../../../packages/records/dead-letters/dead-letters.ts';
import { createPublisher } from '../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import { Command } from '../../../schemas/events/command.ts';
import { Decision } from '../../../schemas/events/decision.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { container, image, inventory } from '../../fixtures/inventory.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { HOUR, instant, MINUTE } from '../../fixtures/time.ts';
import { bodyOf, decisionLog, fact } from '../../support/logs/decision-log.ts';

const at = (minutes: number) => ({ takenAt: instant({ sinceBootMs: 24 * HOUR + minutes * MINUTE }) });
const look = (minutes: number, over = {}) =>
  fact('inventory', inventory({ id: `look-${minutes}`, images: [image('old')], ...at(minutes), ...over }));
const SET = policySet(
  'node',
  [appliedPolicy({ imageMaximumGCAgeMs: HOUR, maximumDeadContainersPerContainer: 0 })],
  [],
);

/** What each decision says: the message, and what came of it. */
const decisionsOf = (records: Parameters<typeof bodyOf>[0][]) =>
  records.map((record) => {
    const { input, outcome, overtakenBy } = Decision.parse(bodyOf(record));
    return `${input.id} ${outcome}${overtakenBy ? ` by ${overtakenBy.id}` : ''}`;
  });

test('a service that catches up decides on the newest inventory of a node, and says so of the others', async () => {
  const { start, publish, records, deps } = await decisionLog(() => SET);
  await publish(look(0), look(5), look(10), look(11, { reclaim: reclaim() }), look(15), look(20));
  await start('image-gc');
  const decisions = decisionsOf(await records('decisions', 6));
  const commands = (await records('commands', 2)).map((record) => Command.parse(bodyOf(record)).inventoryId);
  const counted = await deps.metrics.text();

  expect(decisions).toEqual([
    'look-0 overtaken by look-20',
    'look-5 overtaken by look-20',
    'look-10 overtaken by look-20',
    'look-11 commanded',
    'look-15 overtaken by look-20',
    'look-20 commanded',
  ]);
  expect(commands).toEqual(['look-11', 'look-20']);
  const line = 'fleetgc_events_consumed_total{consumer="image-gc",topic="gc.node.inventory",outcome=';
  expect(counted).toContain(`${line}"overtaken"} 4`);
  expect(counted).toContain(`${line}"processed"} 2`);
});

test('so does container-gc, for each node by itself', async () => {
  const { start, publish, records } = await decisionLog(() => SET);
  const other = { node: 'web-1b', containers: [container('dead')] };
  await publish(look(0), look(0, other), look(5), look(5, other));
  await start('container-gc');

  expect(decisionsOf(await records('decisions', 4)).toSorted()).toEqual([
    'look-0 overtaken by look-5',
    'look-0 overtaken by look-5',
    'look-5 commanded',
    'look-5 nothing-to-do',
  ]);
});

test('an inventory that comes when nothing waits behind it is decided on', async () => {
  const { start, publish, records } = await decisionLog(() => SET);
  await start('image-gc');
  for (const minutes of [0, 5, 10]) {
    await publish(look(minutes));
    await records('decisions', minutes / 5 + 1);
  }
  expect(decisionsOf(await records('decisions', 3))).toEqual(
    ['look-0', 'look-5', 'look-10'].map((id) => `${id} commanded`),
  );
});

test('a backlog is passed over only once the policies are known', async () => {
  let tries = 0;
  const { start, publish, records } = await decisionLog(() => {
    if (tries++ === 0) throw new FleetGcError('POLICIES_UNREADABLE', 'not yet');
    return SET;
  });
  await publish(look(0), look(5));
  await start('image-gc');

  expect(decisionsOf(await records('decisions', 2))).toEqual([
    'look-0 overtaken by look-5',
    'look-5 commanded',
  ]);
  expect(tries).toBeGreaterThan(2);
});

test('pressure passes over readings whose order would come too late, and no others', async () => {
  const { start, publish, records } = await decisionLog(() => SET);
  const readings = [0, 1, 2, 3].map((minutes) =>
    fact('diskStats', diskStats({ availableBytes: '10' }, { id: `stats-${minutes}`, ...at(minutes) })),
  );
  await publish(...readings);
  await start('pressure');

  expect(decisionsOf(await records('decisions', 4))).toEqual([
    'stats-0 overtaken by stats-3',
    'stats-1 overtaken by stats-3',
    'stats-2 ordered',
    'stats-3 ordered',
  ]);
  expect(await records('observe', 2)).toHaveLength(2);
});

test('nodes that no slice holds twice are passed over for what lies far behind', async () => {
  const { publish, records, deps } = await decisionLog(() => SET);
  const nodes = Array.from({ length: 600 }, (_, number) => `n-${number}`)
    .filter((node) => partitionOf('gc.node.disk-stats', `prod/${node}`) === 0)
    .slice(0, 10);
  const readings = Array.from({ length: 20 }, (_, minute) =>
    nodes.map((node) =>
      fact('diskStats', { ...diskStats({}, { id: `${node}-${minute}`, ...at(minute) }), node }),
    ),
  );
  await publish(...readings.flat());
  const { logger, metrics, ids, now, monotonicNow, log } = deps;
  const publisher = createPublisher({ signer: UNSIGNED, log, source: '/fleetgc/test', now, ids });
  await using _consumer = await startConsumer({
    trust: TRUST_OFF,
    name: 'pressure',
    group: 'pressure',
    start: 'earliest',
    assignment: { kind: 'shared' },
    maxSliceRecords: 5,
    log,
    handlers: { diskStats: pressureHandler(() => SET) },
    onOvertaken: overtakenHandler(DECIDER, () => SET),
    publisher,
    deadLetters: createDeadLetters({ publisher, group: 'pressure', metrics, logger, now }),
    logger,
    marks: NO_MARKS,
    metrics,
    now,
    monotonicNow,
  });
  const decisions = (await records('decisions', 200)).map((record) => Decision.parse(bodyOf(record)));

  const newest = nodes.map((node) => `${node}-19`);
  const overtaken = decisions.filter(({ outcome }) => outcome === 'overtaken');
  expect(overtaken).toHaveLength(180);
  expect(new Set(overtaken.map(({ overtakenBy }) => overtakenBy?.id))).toEqual(new Set(newest));
});
