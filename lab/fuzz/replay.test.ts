import { expect, test } from 'vitest';
import { keptCorpus } from './engine/corpus.ts';
import { fuzz } from './engine/fuzz.ts';
import { TARGETS } from './targets/targets.ts';

/** More where much was kept: what reaches something new is often refused, and a campaign makes up for that. */
const freshRuns = (kept: number): number => 40 + kept;

test.each([...TARGETS])(
  'what was kept of fuzzing %s, and a few changed inputs, do no harm',
  async (name, target) => {
    const corpus = keptCorpus(name);
    const { account, found } = await fuzz(target, {
      seed: 1,
      runs: target.seeds().length + corpus.length + freshRuns(corpus.length),
      forMs: Number.POSITIVE_INFINITY,
      corpus,
      stopAtFirst: false,
      onProgress: () => undefined,
    });
    expect(found).toEqual([]);
    // As much as the whole campaign asks for, of few inputs.
    expect(account.passed / account.runs).toBeGreaterThan(0.2);
  },
);
