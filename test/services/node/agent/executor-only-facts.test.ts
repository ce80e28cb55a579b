import { expect, test } from 'vitest';
import type { KubeletPod } from '../../../../packages/cri/kubelet/pod-source.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import { NO_CONTENTS } from '../../../../services/node/agent/contents.ts';
import { executorOnlyFacts } from '../../../../services/node/agent/for-executor.ts';
import { openHistory } from '../../../../services/node/agent/history.ts';
import { openBackoff } from '../../../../services/node/executor/backoff.ts';
import { openRemovedImages } from '../../../../services/node/executor/late-removals.ts';
import { NODE } from '../../../fixtures/inventory.ts';
import { listedContainer, runtimeImage } from '../../../fixtures/listing.ts';
import { HOUR, MINUTE, SECOND } from '../../../fixtures/time.ts';
import { logLines } from '../../../support/log-lines.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { fakeRuntime } from '../executor/support/fake-runtime.ts';
import { memoryState } from '../executor/support/memory-state.ts';

const image = runtimeImage('app');
const POD = 'pod-uid';

/** An executor by itself, beside an agent that keeps the history, as both write and read their files. */
function setUp() {
  const [clock, runtime, state] = [manualClock(), fakeRuntime(), memoryState()];
  const logger = createLogger({ service: 'test', level: 'silent' }, logLines());
  const kubelet: KubeletPod[] = [];
  runtime.images.set(image.id, image);
  const agent = openHistory({ state, now: clock.now(), removed: () => [], logger });
  const start = () =>
    executorOnlyFacts({
      identity: NODE,
      nodeLabels: {},
      runtime,
      contents: async () => NO_CONTENTS,
      filesystems: runtime,
      podLogs: async () => ({ podLogDirectories: [], danglingSymlinks: [] }),
      pods: { list: async () => ({ kubeletInstance: 'one', pods: kubelet }) },
      podSources: ['api'],
      clock,
      logger,
      state,
    });
  /** The agent scans, and writes down what it saw. */
  const agentScans = (): void => {
    agent.detect([image], new Set(), clock.now());
    agent.save('end');
  };
  return { clock, runtime, state, logger, kubelet, start, agentScans };
}

async function inventoryOf({
  takeInventory,
}: ReturnType<typeof executorOnlyFacts>): Promise<CompleteInventory> {
  const inventory = await takeInventory(null, []);
  if (inventory.status !== 'complete') throw new Error('the inventory of the test is not complete');
  return inventory;
}

test('[M1] an image is as old as the agent beside it knows', async () => {
  const { clock, start, agentScans } = setUp();
  const firstMs = clock.now().wallTimeMs;
  agentScans();
  clock.advance(HOUR);
  const [found] = (await inventoryOf(start())).images;
  expect(found?.firstDetectedMs).toBe(firstMs);
});

test('[M1] without a record of the agent it is just detected, also in later scans', async () => {
  const { clock, start } = setUp();
  const facts = start();
  await facts.detect();
  clock.advance(HOUR);
  const [found] = (await inventoryOf(facts)).images;
  expect(found?.firstDetectedMs).toBe(clock.now().wallTimeMs);
});

test('[C4] one that was removed and is there again is another one, whatever the agent still has of it', async () => {
  const { clock, state, logger, start, agentScans } = setUp();
  const facts = start();
  agentScans();
  clock.advance(HOUR);
  openRemovedImages(state, logger).note(image.id, clock.now());
  clock.advance(SECOND);
  const [found] = (await inventoryOf(facts)).images;
  expect(found?.firstDetectedMs).toBe(clock.now().wallTimeMs);
});

test('[A7] a pod counts as gone by scans of this process that lie a minute apart, and not by the first alone', async () => {
  const { clock, runtime, kubelet, start, agentScans } = setUp();
  runtime.containers.set(
    'c',
    listedContainer('c', { labels: { 'io.kubernetes.pod.uid': POD }, state: 'exited', imageId: image.id }),
  );
  kubelet.push(otherPod());
  agentScans();
  const stateIn = async (facts: ReturnType<typeof executorOnlyFacts>) =>
    (await inventoryOf(facts)).pods.find(({ uid }) => uid === POD)?.state;
  const [followed, fresh] = [start(), start()];
  await followed.detect();
  clock.advance(MINUTE);
  expect(await stateIn(followed)).toBe('gone');
  expect(await stateIn(fresh)).not.toBe('gone');
});

test('what failed to go is left alone by the plan of this process too', async () => {
  const { clock, state, logger, start, agentScans } = setUp();
  agentScans();
  openBackoff(state, logger).failed({ kind: 'image', id: image.id }, clock.now().wallTimeMs);
  const [found] = (await inventoryOf(start())).images;
  expect(found?.backoff).toMatchObject({ failures: 1 });
});

const otherPod = (): KubeletPod => ({
  uid: 'other',
  name: 'other',
  namespace: 'default',
  phase: 'Running',
  deletionTimestamp: false,
  source: 'api',
  images: [],
  initContainers: [],
  finished: false,
  evicted: false,
});
