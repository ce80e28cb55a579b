import { expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { Decision } from '../../../../schemas/events/decision.ts';
import { Observe } from '../../../../schemas/events/observe.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { policySet } from '../../../fixtures/policy.ts';
import { DAY, instant } from '../../../fixtures/time.ts';
import { bodyOf, decisionLog, fact } from '../../../support/logs/decision-log.ts';
import { waitUntil } from '../../../support/wait-until.ts';

test('disk statistics on the log become a decision and an order to observe, from pressure', async () => {
  const { start, publish, records } = await decisionLog();
  await publish(fact('diskStats', diskStats()));
  await start('pressure');
  const [order] = await records('observe', 1);
  const [decided] = await records('decisions', 1);
  const record = Decision.parse(bodyOf(decided));
  expect(record).toMatchObject({ outcome: 'ordered', input: { topic: 'gc.node.disk-stats', offset: '0' } });
  expect(Observe.parse(bodyOf(order)).id).toBe(record.outputIds[0]);
  expect(order).toMatchObject({ key: 'prod/web-1', headers: { ce_source: '/fleetgc/pressure' } });
});

test('a clock that is a day ahead of the log is counted, and decided on all the same', async () => {
  const { deps, start, publish, records } = await decisionLog();
  const takenAt = instant({ wallTimeMs: Date.now() + DAY });
  await publish(fact('diskStats', diskStats({}, { takenAt })));
  await start('pressure');
  await records('decisions', 1);
  expect(await deps.metrics.text()).toContain('fleetgc_nodes_with_warnings{kind="clock"} 1\n');
});

test('while the policies cannot be read nothing is decided, and nothing is lost', async () => {
  let readable = false;
  let asked = 0;
  const { start, publish, records } = await decisionLog(() => {
    asked += 1;
    if (readable) return policySet();
    throw new FleetGcError('POLICIES_UNREADABLE', 'policies are still being read');
  });
  await start('pressure');
  await publish(fact('diskStats', diskStats()));
  await waitUntil('pressure to ask for the policies', 10_000, () => asked > 0);
  readable = true;
  const decided = await records('decisions', 1);
  expect(decided.map((record) => Decision.parse(bodyOf(record)).outcome)).toEqual(['ordered']);
});
