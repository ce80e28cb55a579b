import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../../../packages/canonical/ids.ts';
import { graphGcHandler } from '../../../../packages/deciders/graph-gc/decider.ts';
import type { Input } from '../../../../packages/decision/handler.ts';
import { policySet } from '../../../../packages/decision/policy-set.ts';
import { parseValue } from '../../../../packages/records/parse/parse-record.ts';
import { ClusterCommand } from '../../../../schemas/events/cluster-command.ts';
import { ClusterDecision } from '../../../../schemas/events/cluster-decision.ts';
import type { Ownership } from '../../../../schemas/events/ownership.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import type { PauseRecord } from '../../../../schemas/policy/policy.ts';
import { approval, approvedOwner } from '../../../fixtures/approval.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { candidate, owner, ownership } from '../../../fixtures/ownership.ts';
import { EVERY_NODE, pauseRecord } from '../../../fixtures/policy.ts';
import { outputHash } from '../../../support/output-hash.ts';

const FACT = ownership({
  candidates: [
    candidate({ references: [owner('o', { state: 'gone' })] }),
    candidate({ object: { uid: 'y' }, references: [owner('p')] }),
  ],
});
const input = (event: Ownership = FACT): Input<Ownership> => ({
  event,
  position: { topic: 'gc.cluster.ownership', partition: 3, offset: '42', sha256: 'a'.repeat(64) },
});

function decided(
  policies: readonly Partial<ClusterPolicy>[] = [{}],
  pauses: readonly PauseRecord[] = [],
  event: Ownership = FACT,
) {
  const set = policySet('cluster', policies.map(clusterPolicyRecord), pauses);
  const stages = graphGcHandler(() => set)(input(event));
  const [[record], [command] = []] = stages.length === 1 ? [stages[0] ?? []] : [stages[0] ?? [], stages[1]];
  return {
    stages,
    record: ClusterDecision.parse(record?.event),
    command: command && ClusterCommand.parse(command.event),
  };
}
const rulesOf = ({ verdicts }: ClusterDecision): string[] =>
  verdicts.map(({ action, rule }) => `${action} ${rule}`);

test('[cluster D10, D14] a fact gives the record of its decision, and after it the command', () => {
  const { stages, record, command } = decided();
  expect(rulesOf(record)).toEqual(['delete D14', 'keep D10']);
  expect(record).toMatchObject({
    cluster: 'c1',
    clusterInstance: FACT.clusterInstance,
    takenAt: FACT.takenAt,
    decider: { name: 'graph-gc', version: '1' },
    input: { topic: 'gc.cluster.ownership', partition: 3, offset: '42', id: FACT.id },
    outcome: 'commanded',
    policy: { name: 'default', setHash: record.policySetHash },
    outputIds: [command?.id],
  });
  expect(command).toMatchObject({
    cluster: 'c1',
    clusterInstance: FACT.clusterInstance,
    decisionId: record.id,
    factId: FACT.id,
    takenAt: FACT.takenAt,
    lifetimeMs: 600_000,
    policy: record.policy,
    items: [{ object: { uid: 'x', resourceVersion: '7' }, rule: 'D14', act: { action: 'delete' } }],
  });
  expect(record.outputSha256).toBe(outputHash(stages.flat().map(({ event }) => event)));
  for (const { topic, key, event, text } of stages.flat()) {
    expect(parseValue(topic, event).ok).toBe(true);
    expect([key, text]).toEqual(['c1', canonicalJson(event)]);
  }
});

test('a fact that is delivered again gives the same bytes', () => {
  expect(decided().stages).toEqual(decided().stages);
});

describe('nothing follows', () => {
  const elsewhere = { selector: { clusters: ['c2'] } };
  test.each<[string, readonly Partial<ClusterPolicy>[], readonly PauseRecord[], string, string[]]>([
    ['without a policy', [], [], 'no-policy', ['keep P1', 'keep P1']],
    ['from a policy for another cluster', [elsewhere], [], 'no-policy', ['keep P1', 'keep P1']],
    ['while all is paused', [{}], [pauseRecord()], 'paused', ['keep P2', 'keep P2']],
    [
      'while the cluster is paused',
      [{}],
      [pauseRecord({ selector: { ...EVERY_NODE, clusters: ['c1'] } })],
      'paused',
      ['keep P2', 'keep P2'],
    ],
    ['in a dry run', [{ mode: 'dry-run' }], [], 'dry-run', ['delete D14', 'keep D10']],
    ['where another collector does it', [{ collectors: [] }], [], 'not-ours', ['delete D14', 'keep D10']],
  ])('%s', (_, policies, pauses, outcome, verdicts) => {
    const { record, command } = decided(policies, pauses);
    expect([record.outcome, rulesOf(record), record.outputIds, command]).toEqual([
      outcome,
      verdicts,
      [],
      undefined,
    ]);
  });

  test('from a fact without candidates', () => {
    const { record, command } = decided([{}], [], ownership());
    expect([record.outcome, record.verdicts, command]).toEqual(['nothing-to-do', [], undefined]);
  });
});

test('a pause of some nodes holds no cluster', () => {
  const nodes = pauseRecord({ selector: { ...EVERY_NODE, nodeNames: ['web-*'] } });
  expect(decided([{}], [nodes]).record.outcome).toBe('commanded');
});

test('[cluster S7] an approval counts for what was seen before its end, at the latest time that the clock can have shown', () => {
  const cascades = [{ ownerUid: 'o', ownerKind: 'ConfigMap', objects: 1_200, ofKind: 1, within: null }];
  const event = ownership({
    candidates: [candidate({ references: [owner('o', { state: 'gone' })], cascades })],
  });
  const { serverMs, spreadMs } = event.takenAt;
  const ruleAt = (untilMs: number): unknown => {
    const approvals = [approval(approvedOwner('o', 1_200), { untilMs })];
    const set = policySet('cluster', [clusterPolicyRecord()], [], approvals);
    const [[record] = []] = graphGcHandler(() => set)(input(event));
    return ClusterDecision.parse(record?.event).verdicts.map(({ action, rule }) => `${action} ${rule}`);
  };
  expect(ruleAt(serverMs + spreadMs)).toEqual(['hold S1']);
  expect(ruleAt(serverMs + spreadMs + 1)).toEqual(['delete D14']);
});
