import { expect, test } from 'vitest';
import { policySet } from '../../../packages/decision/policy-set.ts';
import type { EventLog } from '../../../packages/event-log/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { startImageGc } from '../../../services/image-gc/main.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { pauseRecord } from '../../fixtures/policy.ts';
import { bodyOf, decisionLog, fact } from '../../support/logs/decision-log.ts';

const SET = policySet('node', [appliedPolicy()], [pauseRecord()]);

test('the set of policies is on the log before the first decision under it', async () => {
  const { deps, publish, records } = await decisionLog(() => SET);
  const order: string[] = [];
  const noting: EventLog['publish'] = async (outgoing) => {
    await deps.log.publish(outgoing);
    order.push(...outgoing.map(({ topic }) => topic));
  };
  await using _ = await startImageGc({ ...deps, log: { ...deps.log, publish: noting } });
  await publish(...['a', 'b'].map((id) => fact('inventory', inventory({ id, images: [image('i')] }))));
  await records('decisions', 2);
  const [told, ...more] = await records('policyVersions', 1);
  expect(more).toEqual([]);
  expect(told?.key).toBe(SET.hash);
  expect(bodyOf(told)).toMatchObject({ type: 'fleetgc.policy-set', hash: SET.hash, pauses: SET.pauses });
  expect(order[0]).toBe(TOPICS.policyVersions.name);
});

test('nothing leaves while the set cannot be told, and the message comes again', async () => {
  const { deps, publish, records } = await decisionLog(() => SET);
  let refusals = 0;
  const refusing: EventLog['publish'] = async (outgoing) => {
    if (outgoing.some(({ topic }) => topic === TOPICS.policyVersions.name) && refusals++ === 0) {
      expect(await records('decisions', 0)).toEqual([]);
      throw new FleetGcError('LOG_UNREACHABLE', 'no broker');
    }
    await deps.log.publish(outgoing);
  };
  await using _ = await startImageGc({ ...deps, log: { ...deps.log, publish: refusing } });
  await publish(fact('inventory', inventory()));
  expect(await records('decisions', 1)).toHaveLength(1);
  expect(refusals).toBeGreaterThan(1);
});
