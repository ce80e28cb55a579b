import { expect, test } from 'vitest';
import { canonicalJson } from '../../../packages/canonical/ids.ts';
import {
  type ClusterConclusion,
  clusterCommand,
  clusterDecisionOutputs,
  type Deciding,
} from '../../../packages/decision/record.ts';
import { parseValue } from '../../../packages/records/parse/parse-record.ts';
import { ClusterDecision } from '../../../schemas/events/cluster-decision.ts';
import { CLUSTER, clusterItem, clusterPolicyRecord } from '../../fixtures/cluster.ts';
import { input } from '../../fixtures/input.ts';
import { ownership } from '../../fixtures/ownership.ts';
import { outputHash } from '../../support/output-hash.ts';

const record = clusterPolicyRecord({ commandLifetimeMs: 90_000 });
const deciding: Deciding<'cluster'> = {
  decider: { name: 'graph-gc', version: '1' },
  input: input('clusterOwnership', ownership()),
  policies: { hash: 'c'.repeat(64) },
  record,
};
const conclusion: ClusterConclusion = {
  outcome: 'commanded',
  reason: '1 to delete (D14)',
  verdicts: [{ position: 0, action: 'delete', rule: 'D14', facts: { dangling: 1 } }],
};
const command = clusterCommand(deciding, record, [clusterItem()]);

test('a command follows from the record, which names it, both in canonical form and keyed by cluster', () => {
  const [[first, ...more] = [], following, ...later] = clusterDecisionOutputs(deciding, conclusion, command);
  expect([more, later]).toEqual([[], []]);
  expect(first).toMatchObject({ topic: 'clusterDecisions', key: CLUSTER.cluster });
  expect(first?.event).toMatchObject({ ...CLUSTER, ...conclusion, outputIds: [command.id] });
  expect(first?.text).toBe(canonicalJson(first?.event));
  const { outputSha256 } = ClusterDecision.parse(first?.event);
  expect(outputSha256).toBe(outputHash([first?.event ?? {}, command]));
  expect(following).toEqual([
    { topic: 'clusterCommands', key: CLUSTER.cluster, event: command, text: canonicalJson(command) },
  ]);
});

test('what follows is what consumers of the topics take', () => {
  for (const { topic, event } of clusterDecisionOutputs(deciding, conclusion, command).flat())
    expect(parseValue(topic, event)).toEqual({ ok: true, event });
});

test('where nothing follows, the record is all there is, and names no policy where none is in force', () => {
  const without = { ...deciding, record: null };
  const [[first] = [], ...later] = clusterDecisionOutputs(
    without,
    { outcome: 'no-policy', reason: 'no policy selects this cluster', verdicts: [] },
    null,
  );
  expect(later).toEqual([]);
  expect(first?.event).toMatchObject({ policy: null, outputIds: [], verdicts: [] });
});

test('the command says what was decided on, under which policy, and for how long it holds', () => {
  const { name } = record.policy;
  const [[first] = []] = clusterDecisionOutputs(deciding, conclusion, command);
  expect(command).toMatchObject({
    ...CLUSTER,
    decisionId: first?.event.id,
    factId: ownership().id,
    takenAt: ownership().takenAt,
    lifetimeMs: 90_000,
    policy: { name, version: 1, hash: record.hash, setHash: deciding.policies.hash },
  });
});

test('a redelivered fact gives the same texts, and other bytes or policies other ids', () => {
  const textsOf = (given: Deciding<'cluster'>): readonly string[] =>
    clusterDecisionOutputs(given, conclusion, clusterCommand(given, record, [clusterItem()]))
      .flat()
      .map(({ text }) => text);
  const idsOf = (given: Deciding<'cluster'>): readonly string[] =>
    clusterDecisionOutputs(given, conclusion, clusterCommand(given, record, [clusterItem()]))
      .flat()
      .map(({ event }) => event.id);
  const again = { ...deciding, input: input('clusterOwnership', ownership()) };
  expect(textsOf(again)).toEqual(textsOf(deciding));
  const { input: given } = deciding;
  const otherBytes = { ...given, position: { ...given.position, sha256: 'd'.repeat(64) } };
  for (const other of [
    { ...deciding, input: otherBytes },
    { ...deciding, policies: { hash: 'e'.repeat(64) } },
    { ...deciding, decider: { ...deciding.decider, version: '2' } },
  ])
    for (const id of idsOf(other)) expect(idsOf(deciding)).not.toContain(id);
});
