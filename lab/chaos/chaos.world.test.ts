import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PROGRAM } from '../../test/support/program.ts';
import { type Campaign, startCampaign } from './campaign.ts';
import { drawSchedule, roundSeed } from './schedule/schedule.ts';

const LANES = 2;

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

const NODES = Array.from({ length: 10 }, (_, index) => ['nodes', 2, index + 1] as const);
const CLUSTERS = [['cluster', 5, 2]] as const;

test.concurrent.each([...NODES, ...CLUSTERS])(
  'whatever goes wrong with the %s of round %i-%i, nothing is lost, doubled or wrongly removed',
  async (subject, seed, round) => {
    const { outcome, violations, problem, counts } = await campaign.round(
      `${seed}-${round}-${subject}`,
      drawSchedule(roundSeed(seed, round), subject),
    );
    expect({ outcome, violations, problem }).toEqual({ outcome: 'held', violations: [], problem: null });
    expect(counts?.removals).toBeGreaterThan(0);
  },
);
