import { describe, expect, test } from 'vitest';
import { containerRemoval } from '../../../fixtures/command.ts';
import { instant, MINUTE, NOW } from '../../../fixtures/time.ts';
import { dead, type Given, idle, TAKEN, table } from './support/looked.ts';

describe('a container', () => {
  const containers = table(() => containerRemoval(['dead']), { containers: [dead()] });
  const createdAgo = (ms: number) => ({
    containers: [dead({ state: 'created', createdAtNs: BigInt(NOW - ms) * 1_000_000n })],
  });

  test.each<Given>([
    { name: 'that exited' },
    { name: '[G15] in unknown state', listing: { containers: [dead({ state: 'unknown' })] } },
    {
      name: '[M32] created exactly its minimum age ago',
      listing: createdAgo(MINUTE - 100),
    },
    {
      name: 'created at the very time of the inventory',
      listing: { containers: [dead({ createdAtNs: BigInt(NOW) * 1_000_000n })] },
    },
    {
      name: 'while images are held back by one without reference',
      listing: { containers: [dead({ imageId: '' })] },
    },
  ])('$name may go', (given) => {
    expect(containers.of(given)).toBe('may-go');
  });

  test.each<Given & { readonly reason: string }>([
    {
      name: '[G3, K2] that runs by now',
      listing: { containers: [dead({ state: 'running' })] },
      reason: 'running',
    },
    {
      name: '[M41] without the pod label',
      listing: { containers: [dead({ labels: {} })] },
      reason: 'not-ours',
    },
    { name: '[M41] without a name', listing: { containers: [dead({ name: '' })] }, reason: 'not-ours' },
    {
      name: '[G18, K6, M32] created a millisecond too late',
      listing: createdAgo(MINUTE - 101),
      reason: 'too-young',
    },
    {
      name: '[M32] that only a step of the wall clock made old enough',
      listing: createdAgo(0),
      now: instant({ wallTimeMs: NOW + 24 * 60 * MINUTE, sinceBootMs: TAKEN.sinceBootMs + 100 }),
      reason: 'too-young',
    },
    {
      name: '[M32] that a clock set back made younger',
      listing: createdAgo(2 * MINUTE),
      now: instant({ wallTimeMs: NOW - 10 * MINUTE, sinceBootMs: TAKEN.sinceBootMs + 100 }),
      reason: 'too-young',
    },
    {
      name: '[K8] created after the inventory',
      listing: { containers: [dead({ createdAtNs: BigInt(NOW) * 1_000_000n + 1n })] },
      reason: 'first-detected-later',
    },
    {
      name: 'that backs off',
      restrictions: { backoff: [{ kind: 'container', id: 'dead', failures: 3, untilMs: NOW + 101 }] },
      reason: 'backing-off',
    },
  ])('$name stays', ({ reason, ...given }) => {
    expect(containers.of(given)).toBe(reason);
  });
});

describe('a sandbox', () => {
  const sandboxes = table(() => containerRemoval(['sandbox-1']), { sandboxes: [idle()] });

  test('that is not ready and empty may go', () => {
    expect(sandboxes.of({ name: '' })).toBe('may-go');
  });

  test.each<Given & { readonly reason: string }>([
    {
      name: '[H1, H3, K2] that is ready by now',
      listing: { sandboxes: [idle({ state: 'ready' })] },
      reason: 'ready',
    },
    {
      name: '[H1, H3] with an exited container',
      listing: { containers: [dead({ sandboxId: 'sandbox-1' })] },
      reason: 'has-containers',
    },
    {
      name: '[M41] without the pod label',
      listing: { sandboxes: [idle({ labels: {} })] },
      reason: 'not-ours',
    },
    {
      name: '[H7] created after the inventory',
      listing: { sandboxes: [idle({ createdAtNs: BigInt(NOW + 1) * 1_000_000n })] },
      reason: 'first-detected-later',
    },
    {
      name: '[M33] that backs off',
      restrictions: { backoff: [{ kind: 'sandbox', id: 'sandbox-1', failures: 1, untilMs: NOW + MINUTE }] },
      reason: 'backing-off',
    },
  ])('$name stays', ({ reason, ...given }) => {
    expect(sandboxes.of(given)).toBe(reason);
  });
});
