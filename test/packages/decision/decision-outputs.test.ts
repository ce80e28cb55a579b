import { expect, test } from 'vitest';
import { canonicalJson } from '../../../packages/canonical/ids.ts';
import type { Conclusion } from '../../../packages/decision/conclusion.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import {
  type Deciding,
  decisionOutputs,
  observeOrder,
  pressureUnrelieved,
} from '../../../packages/decision/record.ts';
import { Decision } from '../../../schemas/events/decision.ts';
import { input } from '../../fixtures/input.ts';
import { inventory } from '../../fixtures/inventory.ts';
import { command } from '../../fixtures/outputs.ts';
import { policyRecord } from '../../fixtures/policy.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { outputHash } from '../../support/output-hash.ts';

const deciding: Deciding<'node'> = {
  decider: { name: 'image-gc', version: '1' },
  input: input('inventory', inventory()),
  policies: { hash: 'c'.repeat(64) },
  record: policyRecord(),
};
const note = { rule: 'M18', message: 'the policy has a list that no image matches' } as const;
const conclusion: Conclusion = {
  outcome: 'commanded',
  reason: '',
  notBelieved: [],
  notes: [note],
  verdicts: [],
  estimatedBytes: 0,
  reclaim: null,
};
const ending = { reclaim: reclaim(), availableNow: '100', holders: [] };

test.each([
  { name: 'a command', followUp: nodeOutput('commands', command()), named: ['command-1'] },
  {
    name: 'an order',
    followUp: nodeOutput('observe', observeOrder(deciding, reclaim())),
    named: [observeOrder(deciding, reclaim()).id],
  },
  {
    name: 'the fact that a reclaim missed its target, which nobody carries out',
    followUp: nodeOutput('decisions', pressureUnrelieved(deciding, ending)),
    named: [],
  },
])('$name follows from a decision in canonical form, and is named by its record', ({ followUp, named }) => {
  const [[record, ...more] = [], following, ...later] = decisionOutputs(deciding, conclusion, followUp);
  expect([more, later]).toEqual([[], []]);
  expect(record?.event).toMatchObject({ outputIds: named, notes: [note] });
  expect(record?.text).toBe(canonicalJson(record?.event));
  const { outputSha256 } = Decision.parse(record?.event);
  expect(outputSha256).toBe(outputHash([record?.event ?? {}, followUp.event]));
  expect(following).toEqual([{ ...followUp, text: canonicalJson(followUp.event) }]);
});

test('where nothing follows, the record is all there is, and names nothing', () => {
  const { notes: _, ...unnoted } = conclusion;
  const [[record] = [], ...later] = decisionOutputs(deciding, unnoted, null);
  expect(later).toEqual([]);
  expect(Decision.parse(record?.event)).toMatchObject({ outputIds: [], notes: [] });
});
