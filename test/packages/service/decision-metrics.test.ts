import { expect, test } from 'vitest';
import type { EventLog } from '../../../packages/log/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { startDecider } from '../../../services/deciders/run.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { decisionLog, fact } from '../../support/logs/decision-log.ts';
import { waitUntil } from '../../support/wait-until.ts';

type Deps = Awaited<ReturnType<typeof decisionLog>>['deps'];

const seriesOf = async ({ metrics }: Deps, name: string): Promise<readonly string[]> =>
  (await metrics.text())
    .split('\n')
    .filter((line) => new RegExp(`^fleetgc_${name}(\\{.*\\})? [^0]`).test(line));

test('decisions are counted by what came of them, and judged objects by rule', async () => {
  const { deps, start, publish, records } = await decisionLog();
  await start('image-gc');
  await publish(fact('inventory', inventory({ images: [image('i'), image('j')] })));
  await records('decisions', 1);
  const [decided] = await seriesOf(deps, 'decisions_total');
  expect(decided).toMatch(/\{decider="image-gc",outcome="[a-z-]+"\} 1$/);
  const judged = await seriesOf(deps, 'objects_judged_total');
  expect(judged.map((line) => Number(line.split(' ').at(-1))).reduce((a, b) => a + b, 0)).toBe(2);
});

test('a reclaim that begins is counted by its signal, with what it wants', async () => {
  const { deps, start, publish, records } = await decisionLog();
  await start('pressure');
  await publish(fact('diskStats', diskStats()));
  await records('observe', 1);
  const [begun, ...more] = await seriesOf(deps, 'reclaims_total');
  expect(begun).toMatch(/\{signal="imagefs\.available"\} 1$/);
  expect(more).toEqual([]);
  const [wanted] = await seriesOf(deps, 'reclaim_wanted_bytes_total');
  expect(Number(wanted?.split(' ').at(-1))).toBeGreaterThan(0);
});

test('when something was decided last is when the event log took it', async () => {
  let nowMs = 1_000_000;
  let refused = 0;
  const { deps, publish, records } = await decisionLog();
  const refusing: EventLog['publish'] = async (outgoing) => {
    if (outgoing.some(({ topic }) => topic === 'gc.node.decisions') && refused++ === 0)
      throw new FleetGcError('LOG_UNREACHABLE', 'no broker');
    nowMs += 5_000;
    return await deps.log.publish(outgoing);
  };
  const log = { ...deps.log, publish: refusing };
  await using _ = await startDecider('image-gc', { ...deps, log, now: () => nowMs });
  const last = async () =>
    Number((await seriesOf(deps, 'last_decision_timestamp_seconds'))[0]?.split(' ').at(-1));
  expect(await last()).toBe(1_000);
  await publish(fact('inventory', inventory()));
  await records('decisions', 1);
  expect(refused).toBeGreaterThan(1);
  await waitUntil('the decision to be counted', 10_000, async () => (await last()) === nowMs / 1_000);
});

test('the newest message that was read is told by the clock of the event log', async () => {
  const { deps, start, publish, records } = await decisionLog();
  const beginMs = Date.now();
  await start('image-gc');
  await publish(fact('inventory', inventory()));
  await records('decisions', 1);
  const [newest] = await seriesOf(deps, 'consumer_newest_message_timestamp_seconds');
  expect(newest).toContain('{consumer="image-gc",topic="gc.node.inventory"}');
  const newestMs = Number(newest?.split(' ').at(-1)) * 1_000;
  expect(newestMs).toBeGreaterThanOrEqual(beginMs - 1);
  expect(newestMs).toBeLessThanOrEqual(Date.now() + 1);
});
