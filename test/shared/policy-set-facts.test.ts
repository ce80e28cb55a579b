import { expect, test } from 'vitest';
import { PolicySetRecord } from '../../schemas/policy-set.ts';
import { FleetGcError } from '../../services/shared/errors.ts';
import type { Output } from '../../services/shared/handler.ts';
import { policySet } from '../../services/shared/policy-set.ts';
import { createPolicySetFacts } from '../../services/shared/policy-set-facts.ts';
import { appliedPolicy } from '../fixtures/applied-policy.ts';
import { pauseRecord } from '../fixtures/policy.ts';

const web = appliedPolicy({ name: 'web' });
const batch = appliedPolicy({ name: 'batch' });
const first = policySet([web, batch], []);
const second = policySet([web], [pauseRecord()]);

/** A log that notes what it takes and, while `refuses`, takes nothing. */
function telling() {
  const told: Output[] = [];
  const state = { set: first, refuses: false };
  const facts = createPolicySetFacts(() => state.set, {
    publish: async (outputs) => {
      if (state.refuses) throw new FleetGcError('LOG_UNREACHABLE', 'no broker');
      told.push(...outputs);
    },
  });
  return { told, state, facts };
}

const hashesOf = (told: readonly Output[]): readonly string[] => told.map(({ key }) => key);

test('a set is told with all that it takes to put it together again', async () => {
  const { told, state, facts } = telling();
  state.set = second;
  facts.policies();
  await facts.tell();
  const [output] = told;
  expect(output).toMatchObject({ topic: 'policyVersions', key: second.hash });
  const record = PolicySetRecord.parse(output?.event);
  expect(record.policies).toEqual([{ name: 'web', hash: web.hash }]);
  expect(
    policySet(
      [batch, web].filter(({ hash }) => hash === record.policies[0]?.hash),
      record.pauses,
    ),
  ).toEqual(second);
});

test('each set once, also when it comes back, and none under which nothing was decided', async () => {
  const { told, state, facts } = telling();
  await facts.tell();
  expect(told).toEqual([]);
  for (const set of [first, first, second, first]) {
    state.set = set;
    facts.policies();
    await facts.tell();
  }
  expect(hashesOf(told)).toEqual([first.hash, second.hash]);
});

test('two decisions at once tell one set once, and both wait for it', async () => {
  const { told, facts } = telling();
  facts.policies();
  await Promise.all([facts.tell(), facts.tell()]);
  expect(hashesOf(told)).toEqual([first.hash]);
});

test('what the log did not take is told again', async () => {
  const { told, state, facts } = telling();
  facts.policies();
  state.refuses = true;
  await expect(facts.tell()).rejects.toMatchObject({ code: 'LOG_UNREACHABLE' });
  state.refuses = false;
  await facts.tell();
  expect(hashesOf(told)).toEqual([first.hash]);
});
