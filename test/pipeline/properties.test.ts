import { existsSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundlessRegistry } from '../../lab/sim/runtime/objects.ts';
import { keepList } from '../fixtures/policy.ts';
import { SECOND } from '../fixtures/time.ts';
import { runs } from '../support/property-runs.ts';
import { expectEveryCommandAccounted, removedOnce } from './support/accounts.ts';
import { guard } from './support/guards.ts';
import { arbitraryLife, begin, type Happening, live, type Stage, settleDown } from './support/node-life.ts';
import { startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

const MINIMUM_AGE_MS = 20 * SECOND;

/** Lives through what happens on a pipeline of its own, and looks at what came of it. */
async function check(happenings: readonly Happening[], deliveries: number): Promise<void> {
  await using pipeline = await startPipeline({
    policy: {
      imageMinimumGCAgeMs: MINIMUM_AGE_MS,
      keep: keepList({ patterns: ['docker.io/kept/*'] }),
    },
    node: {
      registry: (reference) => ({
        ...boundlessRegistry(reference),
        sizeBytes: 400_000_000n,
        ...(reference.startsWith('local/') && { digest: '' }),
      }),
    },
  });
  pipeline.log.deliveries = () => deliveries;
  const guards = guard(pipeline.node, pipeline.time, {
    minimumAgeMs: MINIMUM_AGE_MS,
    isKept: ({ repoTags }) => repoTags.some((tag) => tag.startsWith('docker.io/kept/')),
  });
  const stage: Stage = { pipeline, guards, run: null };
  await begin(stage);
  await live(stage, happenings);
  await settleDown(stage);

  expect(guards.violations).toEqual([]);
  await expectEveryCommandAccounted(pipeline);
  const told = Map.groupBy(await removedOnce(pipeline), (id) => id);
  const tooOften = [...told].filter(([id, results]) => results.length > (guards.gone.get(id) ?? 0));
  expect(tooOften).toEqual([]);
  const { runtime } = pipeline.node;
  const running = [...runtime.containers.values()].filter(({ state }) => state === 'running');
  expect(running.filter(({ logFile }) => logFile !== '' && !existsSync(logFile))).toEqual([]);
}

test('whatever happens to a node and its pipeline, nothing goes that may not, and every command is accounted for', {
  timeout: TEST_BOUND_MS,
}, async () => {
  await fc.assert(fc.asyncProperty(arbitraryLife, fc.integer({ min: 1, max: 2 }), check), {
    ...runs(12),
    // The same lives in every run, so that a failure can be repeated; other seeds are for searching.
    seed: 7,
    endOnFailure: true,
  });
});
