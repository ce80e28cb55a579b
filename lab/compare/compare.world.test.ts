import { expect, test } from 'vitest';
import { PROGRAM } from '../../test/support/program.ts';
import { ensureToolchain } from '../../test/support/toolchain/toolchain.ts';
import { accountOf } from './account.ts';
import { compareAll } from './campaign.ts';
import { Deeds } from './sides/fleetgc.ts';
import { RANDOM_SUBJECTS, SUBJECTS, type SubjectName } from './subjects.ts';

interface Expected {
  readonly name: SubjectName;
  readonly rules: string;
  /** Seeds from the first one on. */
  readonly seeds: number;
  /** What FleetGC decides in them: else there was nothing to compare. */
  readonly decided: readonly string[];
}

/** What differs by intent is played by `npm run compare:kcm`. */
const EXPECTED: readonly Expected[] = [
  {
    name: 'ownership',
    rules: 'D10, D11, D12, D13, D14, D17, E1, E3',
    seeds: 20,
    decided: [
      'delete D13',
      'delete D14',
      'drop-references D11',
      'drop-references E1',
      'finish D17',
      'finish E3',
    ],
  },
  {
    name: 'pods',
    rules: 'J1, J2, J5, J8, J9',
    seeds: 3,
    decided: ['remove-pod J5', 'remove-pod J8', 'remove-pod J9'],
  },
  { name: 'ended-pods', rules: 'J3, J4', seeds: 1, decided: ['remove-pod J3'] },
  { name: 'jobs', rules: 'K1, K2, K4, K6, K7', seeds: 3, decided: ['expire K4'] },
  {
    name: 'requests',
    rules: 'L1, L2, L3, L4, L6, L10',
    seeds: 3,
    decided: ['expire L2', 'expire L3', 'expire L4', 'expire L6'],
  },
];

test('all random subjects are played here', () => {
  expect(EXPECTED.map(({ name }) => name)).toEqual(RANDOM_SUBJECTS);
});

// All but the first mostly wait.
test.concurrent.each(EXPECTED)(
  '[cluster $rules] $name: what kube-controller-manager leaves, FleetGC leaves',
  async ({ name, seeds, decided }) => {
    await ensureToolchain(['api-server', 'kube-controller-manager', 'request-cleaner']);
    const deeds = new Deeds();
    const told: string[] = [];
    const campaign = {
      subject: SUBJECTS[name],
      program: PROGRAM,
      deeds,
      isOneEnough: false,
      tell: (text: string) => void told.push(text),
    };
    const all = Array.from({ length: seeds }, (_, index) => index + 1);
    const extent = { seeds: all, batch: 10, lanes: 1 };
    const found = await compareAll(campaign, extent, new AbortController().signal);
    const account = accountOf(name, found, deeds);
    expect(found.problems).toEqual([]);
    expect(account.different, told.join('\n')).toEqual([]);
    expect(account.seeds).toBe(seeds);
    // Else there was nothing to compare.
    expect(account.verdicts.equal).toBeGreaterThanOrEqual(seeds * 0.7);
    expect(account.effective).toBeGreaterThanOrEqual(0.9);
    for (const deed of decided) expect(account.decided[deed]).toBeGreaterThan(0);
  },
);
