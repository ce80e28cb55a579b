import { expect, test } from 'vitest';
import { accountLines, accountOf } from './account.ts';
import type { SeedOutcome } from './judge/verdict.ts';

const outcome = (seed: number, over: Partial<SeedOutcome> = {}): SeedOutcome => ({
  seed,
  isWild: false,
  verdict: 'equal',
  isEffective: true,
  objects: 30 + seed,
  survivors: { kcm: 3, fleetgc: 3, none: 30 },
  differences: [],
  stalled: {},
  isOneOfKcms: true,
  ...over,
});

const DEEDS = {
  decided: new Map([
    ['finish D17', 2],
    ['delete D14', 5],
  ]),
  done: new Map([['delete removed', 5]]),
};
const OUTCOMES = [
  outcome(3, {
    verdict: 'different',
    differences: [{ id: 4, text: 'o4: kcm-1 is gone; fleetgc-1 pod home' }],
  }),
  outcome(1, { isEffective: false }),
  outcome(4, { stalled: { 'fleetgc-1': ['o1 is deleted (cluster D14)'] } }),
  outcome(5, { verdict: 'known' }),
  outcome(10, { verdict: 'kcm-differs', isWild: true, isOneOfKcms: false }),
];
const FOUND = { outcomes: OUTCOMES, problems: ['seeds 5: no answer'] };

test('the account is the same in whatever order seeds end', () => {
  const other = { ...FOUND, outcomes: OUTCOMES.toReversed() };
  expect(accountOf('ownership', other, DEEDS)).toEqual(accountOf('ownership', FOUND, DEEDS));
});

test('the account names each seed that differs, and what nine in ten means', () => {
  expect(accountLines(accountOf('ownership', FOUND, DEEDS))).toEqual([
    'ownership: kube-controller-manager and FleetGC',
    '  seeds                                         5',
    '  objects of a seed                             31 to 40, median 34',
    '  ended differently than without any collector  80.0 %',
    '  ended the same                                2',
    '  kube-controller-manager differs with itself   1',
    '  ended differently as it is meant to           0',
    '  ended differently, and it is known why        1',
    '  ended differently                             1',
    '  seed 10 (wild): runs of kube-controller-manager differ; FleetGC ended as none of them',
    '  seed 5 differs as lab/compare/history/known.ts says',
    '  seed 3 differs:',
    '    o4: kcm-1 is gone; fleetgc-1 pod home',
    '  fleetgc-1 stalled in seeds 4',
    '  not played: seeds 5: no answer',
    '  FleetGC decided: delete D14 5, finish D17 2',
    '  what came of it: delete removed 5',
  ]);
});
