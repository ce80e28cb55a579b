import { expect, onTestFinished, test, vi } from 'vitest';
import { boundlessRegistry, type Registry } from '../../lab/sim/runtime/objects.ts';
import { explain } from '../../packages/audit/explain/explain.ts';
import type { Explained } from '../../schemas/reports/explanation.ts';
import { MINUTE } from '../fixtures/time.ts';
import { asking } from '../packages/audit/explain/support/recorded-log.ts';
import { usedPercent } from './support/images.ts';
import { type Pipeline, startPipeline, TEST_BOUND_MS } from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

const IMAGE_BYTES = 500_000_000n;
const registry: Registry = (reference) => ({ ...boundlessRegistry(reference), sizeBytes: IMAGE_BYTES });

async function explained({ log }: Pipeline, name: string): Promise<Explained> {
  const signal = new AbortController().signal;
  const explanation = await explain(asking(name), { log, signal, onProgress: () => undefined });
  if (explanation.status === 'explained') return explanation;
  throw new Error(`${name} is ${explanation.status}`);
}

const rulesOf = ({ timeline }: Explained): string[] =>
  timeline.flatMap((entry) => (entry.what === 'verdict' ? [`${entry.action} ${entry.rule}`] : []));

test('what a real log says of an image that was removed and pulled again, one that is used, and one that somebody else removed', async () => {
  const pipeline = await startPipeline({ node: { registry } });
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  const { node, time } = pipeline;
  const { runtime, kubelet } = node;
  await pipeline.startNode();
  await kubelet.startPod({ name: 'live', namespace: 'default', containers: { app: 'app/live:1' } });
  for (const image of ['app/idle:1', 'app/deleted:1']) await runtime.pullImage(image);
  await time.pass(2.5 * MINUTE);
  const deleted = runtime.findImage('app/deleted:1');
  if (deleted) await runtime.removeImage(deleted.id);
  await time.pass(2 * MINUTE);
  for (let n = 0; usedPercent(pipeline) < 85; n += 1) await runtime.pullImage(`young/image-${n}:1`);
  await time.passUntil('the image to go', 2 * MINUTE, () => runtime.findImage('app/idle:1') === undefined);
  await time.pass(2 * MINUTE);
  await runtime.pullImage('app/idle:1');
  await time.pass(2 * MINUTE);

  const idle = await explained(pipeline, 'app/idle:1');
  expect(idle.subject.state).toBe('there');
  expect(rulesOf(idle).slice(0, 3)).toEqual(['keep D10', 'keep P6', 'keep P6']);
  expect(rulesOf(idle)).toContain('remove D11');
  expect(idle.timeline.map(({ what }) => what).filter((what) => what !== 'verdict')).toEqual([
    'seen',
    'command',
    'result',
    'seen',
  ]);
  expect(idle.timeline.find(({ what }) => what === 'result')).toMatchObject({
    outcome: 'removed',
    expectedBytes: Number(IMAGE_BYTES),
  });

  const live = await explained(pipeline, 'app/live:1');
  expect([...new Set(rulesOf(live))]).toEqual(['keep C8']);
  expect(live.timeline.at(-1)).toMatchObject({ because: 'used by container default/live/app#0' });

  const gone = await explained(pipeline, 'app/deleted:1');
  expect(gone.subject.state).toBe('gone');
  expect(gone.timeline.at(-1)).toMatchObject({ what: 'gone', commandOpen: false, otherInstance: false });
  expect((await explained(pipeline, 'node/web-1')).timeline.map(({ what }) => what)).toContain(
    'command-result',
  );
});
