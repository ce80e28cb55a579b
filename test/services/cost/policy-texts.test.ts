import { expect, test } from 'vitest';
import { MAX_ENTRY_LENGTH, MAX_LABEL_VALUE_LENGTH } from '../../../schemas/policy/image-pattern.ts';
import { type NodeSelector, PauseRecord, PolicyRecord } from '../../../schemas/policy/policy.ts';
import { EVERY_NODE, keepList, pauseRecord, policyRecord } from '../../fixtures/policy.ts';

const selecting = (over: Partial<NodeSelector>): boolean => {
  const selector = { ...EVERY_NODE, ...over };
  const accepted = [
    PolicyRecord.safeParse(policyRecord({ selector })).success,
    PauseRecord.safeParse(pauseRecord({ selector })).success,
  ];
  expect(new Set(accepted).size).toBe(1);
  return accepted[0] ?? false;
};

/** Each repeats in a key, in every decision, or is held against what each node says. */
test.each([
  { what: 'a cluster', most: MAX_ENTRY_LENGTH, is: (text: string) => selecting({ clusters: [text] }) },
  { what: 'a pool', most: MAX_ENTRY_LENGTH, is: (text: string) => selecting({ pools: [text] }) },
  {
    what: 'the name of a label of nodes',
    most: MAX_ENTRY_LENGTH,
    is: (text: string) => selecting({ nodeLabels: { [text]: '' } }),
  },
  {
    what: 'a label of nodes',
    most: MAX_LABEL_VALUE_LENGTH,
    is: (text: string) => selecting({ nodeLabels: { a: text } }),
  },
  {
    what: 'a label of images',
    most: MAX_LABEL_VALUE_LENGTH,
    is: (text: string) =>
      PolicyRecord.safeParse(policyRecord({ keep: keepList({ labels: { a: text } }) })).success,
  },
  {
    what: 'a kept namespace',
    most: MAX_ENTRY_LENGTH,
    is: (text: string) =>
      PolicyRecord.safeParse(policyRecord({ keep: keepList({ namespaces: [text] }) })).success,
  },
  {
    what: 'the reason of a pause',
    most: 1_000,
    is: (reason: string) => PauseRecord.safeParse(pauseRecord({ reason })).success,
  },
])('$what of a policy or a pause has at most $most characters', ({ most, is }) => {
  expect([is('a'.repeat(most)), is('a'.repeat(most + 1))]).toEqual([true, false]);
});
