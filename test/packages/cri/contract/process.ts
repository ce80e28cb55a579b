import { expect, test } from 'vitest';
import { connectRemover } from '../../../../packages/cri/client.ts';
import { readListing } from '../../../../packages/cri/listing.ts';
import type { CompleteListing } from '../../../../packages/cri/listing-types.ts';
import { imageUsage } from '../../../../packages/cri/usage.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { listingOf, runContainer, SETTLE_MS, type Tried } from './node.ts';

export function processContract(tried: () => Tried): void {
  test('says that it speaks v1 and is ready', async () => {
    const { runtime } = tried();
    const { name, version, apiVersion } = await runtime.version();
    expect([name, version]).not.toContain('');
    expect(apiVersion).toBe('v1');
    expect((await runtime.status()).runtimeReady).toBe(true);
  });

  test('[M9] tells the configured sandbox image, or pins it', async () => {
    const { node, runtime, traits } = tried();
    const told = traits.tellsConfiguredSandboxImage ? node.sandboxImage : '';
    expect((await runtime.status()).sandboxImage).toBe(told);
  });

  test('tells what happens to containers, or that it does not', async () => {
    const { node, runtime, traits } = tried();
    const stop = new AbortController();
    const kinds: string[] = [];
    let containerId = '';
    const collected = (async () => {
      for await (const event of runtime.containerEvents(stop.signal))
        if (event.containerId === containerId) kinds.push(event.kind);
    })();
    if (traits.containerEvents === 'none') return expect(collected).resolves.toBeUndefined();
    if (traits.containerEvents === 'unsupported')
      return expect(collected).rejects.toMatchObject({ code: 'RUNTIME_UNSUPPORTED' });
    ({ containerId } = await runContainer(tried(), 'events', await node.pull('events')));
    await node.crash(containerId);
    await waitUntil('the event that it stopped', SETTLE_MS, () => kinds.includes('stopped'));
    await runtime.removeContainer(containerId);
    await waitUntil('the event that it was deleted', SETTLE_MS, () => kinds.includes('deleted'));
    stop.abort();
    await collected;
  });

  test('when it stands still, calls end with their deadline', async () => {
    const { node } = tried();
    const timeouts = { readMs: 500, removeImageMs: 500, removeMs: 500 };
    using impatient = connectRemover(node.endpoint, timeouts);
    await impatient.listImages();
    await node.freeze();
    try {
      await expect(impatient.listImages()).rejects.toMatchObject({ code: 'RUNTIME_TIMEOUT' });
    } finally {
      await node.thaw();
    }
    await waitUntil('an answer', SETTLE_MS, () => impatient.listImages());
  });

  test('when it is gone, calls say so; when it is back, the same connection has everything again, images in use as before', async () => {
    const { node, runtime } = tried();
    const before = await listingOf(runtime);
    await node.killRuntime();
    await expect(runtime.listImages()).rejects.toMatchObject({
      code: expect.stringMatching(/^RUNTIME_(MISSING|REFUSED)$/),
    });
    expect(await readListing(runtime)).toMatchObject({ problems: [{ code: 'runtime-unreachable' }] });
    await node.startRuntime();
    await waitUntil('an answer of the runtime that came back', SETTLE_MS, () => runtime.version());
    const after = await listingOf(runtime);
    expect(idsIn(after)).toEqual(idsIn(before));
    expect(usesIn(after)).toEqual(usesIn(before));
  });
}

/** Lists come in any order. */
const usesIn = (listing: CompleteListing): string[] =>
  [...imageUsage(listing, []).users]
    .flatMap(([image, users]) => users.map(({ kind, id }) => `${image} ${kind} ${id}`))
    .toSorted();

const idsIn = ({ images, containers, sandboxes }: CompleteListing): string[][] =>
  [images, containers, sandboxes].map((list) => list.map(({ id }) => id).toSorted());
