import { expect, test } from 'vitest';
import { decisionRanges } from '../../../../packages/audit/verify/decision-heads.ts';
import { AnyDeciderName, ClusterDeciderName } from '../../../../schemas/events/deciders.ts';
import type { EventOf } from '../../../../schemas/events/topics.ts';
import { recordOf } from '../../../support/logs/log-record.ts';

const ALL = { fromMs: null, toMs: null };

const headOf = (decider: AnyDeciderName) => {
  const event: Extract<EventOf<'heads'>, { readonly type: 'fleetgc.decision-head' }> = {
    type: 'fleetgc.decision-head',
    version: 1,
    id: `head of ${decider}`,
    chain: decider,
    decider,
    statements: {},
    ranges: [{ partition: 3, first: 0, records: 2, sha256: 'a'.repeat(64), firstAtMs: 1, lastAtMs: 2 }],
  };
  return { event, record: recordOf({ topic: 'heads', key: decider, event }) };
};

test('what a head names lies on the topic on which its decider writes, and is missed there alone', async () => {
  const heads = AnyDeciderName.options.map(headOf);
  const chainsOn = async (topicId: 'decisions' | 'clusterDecisions') => {
    const { byChain } = await decisionRanges(heads, { topicId, partition: 3, range: ALL });
    return [...byChain.keys()];
  };
  expect(await chainsOn('decisions')).toEqual(['pressure', 'container-gc', 'image-gc']);
  expect(await chainsOn('clusterDecisions')).toEqual(ClusterDeciderName.options);
});
