import { expect, test } from 'vitest';
import { operatorPublication } from '../../../cli/framework/task-event-log.ts';
import { settlePolicies } from '../../../cli/run/policies.ts';
import { UNSIGNED_STATE } from '../../../packages/records/trust/state-signer.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { pauseKey } from '../../../schemas/policy/policy.ts';
import { EVERY_NODE } from '../../fixtures/policy.ts';
import { ownLog } from '../fleetgc.ts';

test('a policy that nobody can read goes, and a pause that nobody can read stays', async () => {
  const { log } = await ownLog();
  const topic = TOPICS.policies.name;
  const value = Buffer.from('{');
  await log.publish([
    { topic, key: 'old', value, headers: {} },
    { topic, key: pauseKey(EVERY_NODE), value, headers: {} },
  ]);

  const { deleted } = await settlePolicies(
    { signer: UNSIGNED_STATE, log, publication: operatorPublication() },
    [],
    new AbortController().signal,
  );
  expect(deleted).toEqual(['old']);
});
