import { expect, test } from 'vitest';
import type { LogRecord } from '../../../packages/log/port.ts';
import { createPolicyReading } from '../../../packages/policy/policy-reading.ts';
import { highestGenerations } from '../../../packages/policy/seen-versions.ts';
import { writeStates } from '../../../packages/policy/write-policies.ts';
import { toRecord } from '../../../packages/records/publisher.ts';
import { KeyRing } from '../../../packages/records/trust/key-ring.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import { KeySigner } from '../../../packages/records/trust/state-signer.ts';
import { RequiredTrust } from '../../../packages/records/trust/trust.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { certified, FLEET, newKey, onLog, revoked, rootsOf, SIGNED_AT_MS } from '../../fixtures/trust.ts';
import { madeUpPositions } from '../../support/logs/made-up-positions.ts';
import { readableLog } from '../../support/logs/readable-log.ts';

const HOUR_MS = 3_600_000;
const [root, stolenRoot, operator, thief] = [newKey(), newKey(), newKey(), newKey()];
const POLICY = appliedPolicy({ name: 'web' });
const PUBLICATION = {
  source: '/fleetgc/cli',
  nowMs: SIGNED_AT_MS,
  trace: { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` },
};

const byThief = (generation: number): LogRecord =>
  onLog(
    signRecord(toRecord({ topic: 'policies', key: 'web', event: POLICY }, PUBLICATION), {
      fleet: FLEET,
      key: thief,
      generation,
    }),
  );

/** What becomes of the policy for whoever believed the thief before. */
async function afterThief(generation: number, ...statements: readonly LogRecord[]) {
  const ring = new KeyRing(rootsOf(root, stolenRoot));
  ring.add(certified(root, operator, { role: 'operator' }));
  ring.add(certified(stolenRoot, thief, { role: 'operator' }));
  const trust = new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => SIGNED_AT_MS });
  const seen = new SeenGenerations();
  const theirs = byThief(generation);
  const before = createPolicyReading(trust, seen);
  before.add(theirs);
  seen.saw('policies', before.generations);
  for (const statement of statements) ring.add(statement);

  const { log } = readableLog([{ ...theirs, offset: 0n }]);
  const highest = await highestGenerations(log, ring, new AbortController().signal);
  const signer = new KeySigner({ fleet: FLEET, key: operator, trust, highest, nowMs: SIGNED_AT_MS });
  const written: LogRecord[] = [];
  const publish = async (records: readonly Parameters<typeof onLog>[0][]) => {
    written.push(...records.map((record) => onLog(record)));
    return madeUpPositions(records);
  };
  const writer = { log: { publish }, publication: PUBLICATION, signer };
  await writeStates(writer, [{ key: 'web', event: POLICY }]);
  const after = createPolicyReading(trust, seen);
  for (const record of [theirs, ...written.filter(({ topic }) => topic === 'gc.policies')]) after.add(record);
  return after.entries.get('web');
}

test.each([
  { name: 'was revoked', statement: () => revoked(root, thief) },
  { name: 'was certified by a stolen root, which was revoked', statement: () => revoked(root, stolenRoot) },
])('an operator replaces at once what a key signed hours ahead that $name', async ({ statement }) => {
  expect(await afterThief(SIGNED_AT_MS + 20 * HOUR_MS, statement())).toMatchObject({ kind: 'policy' });
});
