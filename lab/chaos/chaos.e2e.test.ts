import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PROGRAM } from '../../test/support/program.ts';
import { type Campaign, startCampaign } from './campaign.ts';
import { drawSchedule, roundSeed } from './schedule/schedule.ts';

const LANES = 1;

let campaign: Campaign;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'fleetgc-chaos-'));
  campaign = await startCampaign({
    program: PROGRAM,
    out: join(directory, 'outcomes.ndjson'),
    keepAll: false,
    lanes: LANES,
    signal: new AbortController().signal,
  });
});
afterAll(async () => {
  await campaign?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

test.each([
  [1, 1, 'nodes'],
  [4, 1, 'nodes'],
  [5, 1, 'cluster'],
] as const)(
  'whatever goes wrong in round %i-%i about %s, nothing is lost, doubled or wrongly removed',
  async (seed, round, subject) => {
    const { outcome, violations, problem, counts } = await campaign.round(
      `${seed}-${round}-${subject}`,
      drawSchedule(roundSeed(seed, round), subject),
    );
    expect({ outcome, violations, problem }).toEqual({ outcome: 'held', violations: [], problem: null });
    expect(counts?.removals).toBeGreaterThan(0);
  },
);
