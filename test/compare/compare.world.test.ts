import { expect, test } from 'vitest';
import { PROGRAM } from '../support/program.ts';
import { ensureToolchain } from '../support/toolchain/toolchain.ts';
import { accountOf } from './account.ts';
import { compareAll } from './campaign.ts';
import { Deeds } from './sides/fleetgc.ts';
import { SUBJECT_NAMES, SUBJECTS } from './subjects.ts';

const SEEDS = Array.from({ length: 20 }, (_, index) => index + 1);

/** What differs by intent is played by `--only listed`. */
const RANDOM = SUBJECT_NAMES.filter((name) => name !== 'listed');

test.each(RANDOM)(
  '[cluster D10, D11, D12, D13, D14, D17, E1, E3] %s: what kube-controller-manager leaves, FleetGC leaves',
  async (name) => {
    await ensureToolchain(['api-server', 'kube-controller-manager']);
    const deeds = new Deeds();
    const told: string[] = [];
    const campaign = {
      subject: SUBJECTS[name],
      program: PROGRAM,
      deeds,
      isOneEnough: false,
      tell: (text: string) => void told.push(text),
    };
    const extent = { seeds: SEEDS, batch: 10, lanes: 1 };
    const found = await compareAll(campaign, extent, new AbortController().signal);
    const account = accountOf(name, found, deeds);
    expect(found.problems).toEqual([]);
    expect(account.different, told.join('\n')).toEqual([]);
    expect(account.seeds).toBe(SEEDS.length);
    // Else there was nothing to compare.
    expect(account.verdicts.equal).toBeGreaterThanOrEqual(SEEDS.length * 0.7);
    expect(account.effective).toBeGreaterThanOrEqual(0.9);
    for (const deed of [
      'delete D13',
      'delete D14',
      'drop-references D11',
      'drop-references E1',
      'finish D17',
      'finish E3',
    ])
      expect(account.decided[deed]).toBeGreaterThan(0);
  },
);
