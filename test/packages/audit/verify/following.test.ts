import { describe, expect, test } from 'vitest';
import { Inputs } from '../../../../packages/audit/verify/inputs.ts';
import { decidedBy, mayHaveOutputs } from '../../../../packages/audit/verify/outputs.ts';
import { removalCounts } from '../../../../packages/audit/verify/removals.ts';
import { endingId } from '../../../../packages/decision/record.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { verdictsOf } from '../../../fixtures/verdicts.ts';
import { logOf } from '../support/archives.ts';
import { at, headOf } from './support.ts';

const INPUT = at('inventory', 5, 0, {
  value: Buffer.from(JSON.stringify(inventory({ images: [image('a'), image('b')] }))),
});
const verdict = (position: number, action: 'remove' | 'keep') => ({
  position,
  action,
  rule: 'D11',
  facts: {},
});
const VALUE = { verdicts: verdictsOf({ image: [verdict(0, 'remove'), verdict(1, 'keep')] }) };
const COMMANDED = headOf('image-gc', 5, { outcome: 'commanded', outputIds: ['command'] });

const following = (head = COMMANDED, again: Partial<Parameters<typeof decidedBy>[1]> = {}) =>
  decidedBy(
    { record: at('decisions', 7), subject: { kind: 'node', key: 'prod/web-1' }, value: VALUE, head },
    { input: INPUT, outputs: null, ...again },
    new Inputs(logOf([INPUT]), 0, { signal: new AbortController().signal }),
  );

describe('what must follow from a decision', () => {
  const event = { type: 'fleetgc.node.command', id: 'command' };

  test('is what its decider gives again, and removes what the decision says', () => {
    expect(following(COMMANDED, { outputs: [event] })).toEqual([
      {
        id: 'command',
        content: event,
        topicId: 'commands',
        decision: expect.objectContaining({ offset: '7' }),
        node: 'prod/web-1',
        decider: 'image-gc',
        removable: new Set(['image a']),
        removals: null,
      },
    ]);
  });

  test.each([
    { type: 'fleetgc.node.observe', topicId: 'observe' },
    { type: 'fleetgc.node.pressure-unrelieved', topicId: 'decisions' },
    { type: 'of a newer release', topicId: null },
  ])('lies on the topic of its kind: $type', ({ type, topicId }) => {
    expect(following(COMMANDED, { outputs: [{ type, id: 'x' }] })).toMatchObject([{ topicId }]);
  });

  test('is, where nobody can decide again, what the decision lists, and perhaps that its reclaim ended', () => {
    expect(following(COMMANDED, { input: null })).toMatchObject([
      {
        id: 'command',
        content: null,
        topicId: 'commands',
        removable: null,
        removals: removalCounts(VALUE),
      },
      { id: endingId(COMMANDED.id), content: null, topicId: null },
    ]);
    const ordered = headOf('pressure', 5, { outcome: 'ordered', outputIds: ['order'] });
    expect(following(ordered)).toMatchObject([{ id: 'order', topicId: 'observe', removable: null }, {}]);
  });

  test('removes nothing where nothing is listed', () => {
    expect(following(headOf('image-gc', 5))).toMatchObject([{ removable: null, removals: null }]);
  });
});

test.each([
  ['{"outputIds":[],"reclaim":null}', false],
  ['{"outputIds":["a"],"reclaim":null}', true],
  ['{"outputIds":[],"reclaim":{}}', true],
  [null, false],
])('from a record of %s something may follow: %s', (text, may) => {
  const value = text === null ? null : Buffer.from(text);
  expect(mayHaveOutputs(at('decisions', 7, 0, { value }))).toBe(may);
});
