import type { Output } from '../../../packages/decision/handler.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { keyOf } from '../../../packages/records/parse/record-key.ts';
import { policySetOutput } from '../../../packages/service/decision-writing.ts';
import type { PolicyRecord, PolicySet } from '../../../schemas/policy/policy.ts';
import { appliedPolicy } from '../../../test/fixtures/applied-policy.ts';
import { EVERY_NODE } from '../../../test/fixtures/policy.ts';

/** Which policies hold when; somebody changes one in the middle of the month. */
export interface MonthPolicies {
  setAt(atMs: number): PolicySet;
  /** What lies on `gc.policies` and `gc.policy-versions`, in order. */
  readonly records: readonly TimedOutput[];
}

interface TimedOutput {
  readonly atMs: number;
  readonly output: Output<'policies'> | Output<'policyVersions'>;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const CHANGED_AFTER_MS = 12 * DAY_MS;

const ofPool = (pool: string) => ({ name: pool, selector: { ...EVERY_NODE, pools: [pool] } });
const EVERYTHING_ELSE = appliedPolicy({ name: 'default', priority: -1 });
const WEB = appliedPolicy({
  ...ofPool('web'),
  imageGCHighThresholdPercent: 80,
  imageGCLowThresholdPercent: 72,
});
const BATCH = appliedPolicy({ ...ofPool('batch'), imageMaximumGCAgeMs: 10 * DAY_MS });
const BATCH_CHANGED: PolicyRecord = {
  ...appliedPolicy({ ...ofPool('batch'), imageMaximumGCAgeMs: 7 * DAY_MS, imageGCLowThresholdPercent: 70 }),
  id: 'policy-batch-2',
  policyVersion: 2,
};

export function monthPolicies(beginMs: number): MonthPolicies {
  const changedMs = beginMs + CHANGED_AFTER_MS;
  const first = [EVERYTHING_ELSE, WEB, BATCH];
  const before = policySet('node', first, []);
  const after = policySet('node', [EVERYTHING_ELSE, WEB, BATCH_CHANGED], []);
  return {
    setAt: (atMs) => (atMs < changedMs ? before : after),
    records: [
      ...first.flatMap((record) => applied(record, beginMs)),
      { atMs: beginMs, output: policySetOutput(before) },
      ...applied(BATCH_CHANGED, changedMs),
      { atMs: changedMs, output: policySetOutput(after) },
    ],
  };
}

const applied = (event: PolicyRecord, atMs: number): readonly TimedOutput[] =>
  (['policyVersions', 'policies'] as const).map((topic) => ({
    atMs,
    output: { topic, key: keyOf(topic, event), event },
  }));
