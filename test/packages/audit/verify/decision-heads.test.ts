import { expect, test } from 'vitest';
import { openDecisionHeads } from '../../../../packages/audit/verify/decision-heads.ts';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { partitionOf } from '../../../../packages/log/partition.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import type { DecisionHead } from '../../../../schemas/events/head.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { decision } from '../../../fixtures/outputs.ts';
import { certified, FLEET, newKey, onLog, rootsOf, SIGNED_AT_MS } from '../../../fixtures/trust.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { logOf } from '../support/archives.ts';

const DAY_MS = 86_400_000;
const [root, decider] = [newKey(), newKey()];
const decided = outgoing(nodeOutput('decisions', decision()));
const partition = partitionOf(TOPICS.decisions.name, decided.key);

const headAt = (takenMs: number): LogRecord => {
  const range = { partition, first: 0, records: 1, sha256: 'a'.repeat(64) };
  const event: DecisionHead = {
    type: 'fleetgc.decision-head',
    version: 1,
    id: 'head-1',
    chain: 'a',
    decider: 'pressure',
    statements: {},
    ranges: [{ ...range, firstAtMs: takenMs, lastAtMs: takenMs }],
  };
  const record = outgoing({ topic: 'heads', key: 'a', event });
  return onLog(signRecord(record, { fleet: FLEET, key: decider, generation: null }), takenMs);
};

/** Chains of which the heads are known when it is verified `daysLater`. */
async function chainsKnown(decisions: readonly LogRecord[], daysLater: number): Promise<readonly string[]> {
  const heads = openDecisionHeads(logOf([certified(root, decider), headAt(SIGNED_AT_MS), ...decisions]), {
    roots: rootsOf(root),
    range: { fromMs: null, toMs: null },
    nowMs: SIGNED_AT_MS + daysLater * DAY_MS,
    keepsAsDeclared: true,
    areRequired: false,
  });
  const [ofNodes] = await heads(partition, 0, new AbortController().signal);
  return [...(ofNodes?.ranges.byChain.keys() ?? [])];
}

test('heads are read as far back as decisions are there, however long their topic keeps them', async () => {
  const kept = { ...onLog(decided), partition };
  expect(await chainsKnown([kept], 13)).toEqual(['a']);
  expect(await chainsKnown([kept], 20)).toEqual(['a']);
  // Nobody asks for what went long ago.
  expect(await chainsKnown([], 20)).toEqual([]);
});
