import { describe, expect, test } from 'vitest';
import type { PolicyKeep } from '../../../../schemas/policy/policy.ts';
import type { Restrictions } from '../../../../services/node/executor/checks.ts';
import { EMPTY_JOURNAL } from '../../../../services/node/executor/journal.ts';
import { NO_LOCAL_RULES } from '../../../../services/node/executor/local-rules.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { imageSpec, runtimeImage } from '../../../fixtures/listing.ts';
import { keepList, policyRecord } from '../../../fixtures/policy.ts';
import { instant, MINUTE, NOW, SECOND } from '../../../fixtures/time.ts';
import { APP, dead, type Given, idle, image, later, look, TAKEN, table } from './support/looked.ts';

const keeping = (keep: Partial<PolicyKeep>): Partial<Restrictions> => ({
  policy: { kind: 'enforced', record: policyRecord({ keep: keepList(keep) }) },
});

describe('an image', () => {
  const images = table(() => imageRemoval([APP]), { images: [image()] });

  test.each<Given>([
    { name: 'that nobody uses' },
    { name: '[C10] wanted only under another tag', wanted: ['registry.example/team/app:2'] },
    { name: 'known to the history since before the inventory', history: [[APP, TAKEN.sinceBootMs, null]] },
    {
      name: 'of a runtime handler, known to the history by both',
      listing: { images: [runtimeImage('app', { runtimeHandler: 'kata' })] },
      history: [[`${APP},kata`, 0, null]],
    },
    {
      name: 'last used before the inventory',
      history: [[APP, 0, TAKEN.sinceBootMs]],
    },
    {
      name: 'known to a history that was kept before the inventory',
      historyAt: instant({ sinceBootMs: TAKEN.sinceBootMs - MINUTE }),
    },
    { name: 'on the last millisecond of its command', now: later(60 * SECOND - 1) },
    {
      name: 'when the last action on images was before the inventory',
      restrictions: {
        lastActions: {
          ...EMPTY_JOURNAL.lastActions,
          image: { at: instant({ sinceBootMs: TAKEN.sinceBootMs - 1 }), commandId: 'other' },
        },
      },
    },
    {
      name: 'when the later action is of its own command',
      restrictions: {
        lastActions: { ...EMPTY_JOURNAL.lastActions, image: { at: later(50), commandId: 'command-1' } },
      },
    },
    {
      name: 'when the later action was on containers',
      restrictions: {
        lastActions: { ...EMPTY_JOURNAL.lastActions, container: { at: later(50), commandId: 'other' } },
      },
    },
    {
      name: '[M11] that cannot be pulled again, when the policy lets such images go',
      restrictions: keeping({ patterns: [], digests: [], labels: {}, unpullable: false }),
      listing: { images: [runtimeImage('app', { repoDigests: [] })] },
    },
    {
      name: '[M17] whose backoff ends now',
      restrictions: { backoff: [{ kind: 'image', id: APP, failures: 1, untilMs: NOW + 100 }] },
    },
    {
      name: 'whose backoff was written before the clock was set back',
      restrictions: {
        backoff: [{ kind: 'image', id: APP, failures: 1, untilMs: NOW + 365 * 24 * 60 * MINUTE }],
      },
    },
    {
      name: 'of the same id as a container that backs off',
      restrictions: { backoff: [{ kind: 'container', id: APP, failures: 1, untilMs: NOW + MINUTE }] },
    },
    {
      name: 'one removal below the limit per hour',
      restrictions: {
        local: { ...NO_LOCAL_RULES, maxRemovalsPerHour: 2 },
        removalRate: { bootId: TAKEN.bootId, minutes: [{ minute: 24 * 60, removals: 1 }] },
      },
    },
  ])('$name may go', (given) => {
    expect(images.of(given)).toBe('may-go');
  });

  test.each<Given & { readonly reason: string }>([
    {
      name: '[K2, M5] that an exited container uses by now',
      listing: { containers: [dead({ imageId: APP })] },
      reason: 'in-use',
    },
    {
      name: '[C8] that a created container names by its tag alone',
      listing: {
        containers: [
          dead({ imageId: '', image: imageSpec({ image: 'registry.example/team/app:1' }), state: 'created' }),
        ],
      },
      reason: 'in-use',
    },
    { name: '[C10, M5] that a pod wants', wanted: ['registry.example/team/app:1'], reason: 'in-use' },
    {
      name: '[M19] that a container mounts',
      listing: { containers: [dead({ mountedImages: [imageSpec({ image: APP })] })] },
      reason: 'in-use',
    },
    {
      name: '[M9] that a sandbox runs on',
      listing: { sandboxes: [idle({ image: 'registry.example/team/app:1' })] },
      reason: 'in-use',
    },
    {
      name: '[D7, M10] that is pinned by now',
      listing: { images: [runtimeImage('app', { pinned: true })] },
      reason: 'pinned',
    },
    {
      name: '[C8] while a container names no image',
      listing: { containers: [dead({ imageId: '' })] },
      reason: 'container-image-unknown',
    },
    {
      name: '[M9] while the sandbox image is not known',
      listing: { configuredSandboxImage: '' },
      reason: 'sandbox-image-unknown',
    },
    {
      name: '[C10, M5] while the kubelet has not told what its pods want',
      wanted: 'not told yet',
      reason: 'pod-images-unknown',
    },
    {
      name: '[M11] that the policy keeps by name',
      restrictions: keeping({
        patterns: ['registry.example/team/*'],
        digests: [],
        labels: {},
        unpullable: true,
      }),
      reason: 'kept-by-policy',
    },
    {
      name: '[M11] that the policy keeps by label',
      restrictions: keeping({ patterns: [], digests: [], labels: { keep: 'yes' }, unpullable: true }),
      listing: { images: [runtimeImage('app', { labels: { keep: 'yes' } })] },
      reason: 'kept-by-policy',
    },
    {
      name: '[M11] whose labels are not known, when the policy keeps by label',
      restrictions: keeping({ patterns: [], digests: [], labels: { keep: 'yes' }, unpullable: true }),
      listing: { images: [runtimeImage('app', { labels: null })] },
      reason: 'kept-by-policy',
    },
    {
      name: '[M11] that lost its digest',
      listing: { images: [runtimeImage('app', { repoDigests: [] })] },
      reason: 'kept-by-policy',
    },
    {
      name: '[M11] whose name has no registry',
      listing: { images: [runtimeImage('app', { repoDigests: [`localhost/app@sha256:${'a'.repeat(64)}`] })] },
      reason: 'kept-by-policy',
    },
    {
      name: "[M11] that the node's own file keeps",
      restrictions: { local: { ...NO_LOCAL_RULES, keepPatterns: ['**/app:*'] } },
      reason: 'kept-by-node',
    },
    {
      name: 'first detected after the inventory',
      history: [[APP, TAKEN.sinceBootMs + 1, null]],
      reason: 'first-detected-later',
    },
    {
      name: 'of another handler than the history knows',
      history: [[`${APP},kata`, 0, null]],
      reason: 'first-detected-later',
    },
    { name: 'while the agent has kept no history', history: null, reason: 'first-detected-later' },
    {
      name: 'while the history is of another boot',
      historyAt: instant({ bootId: 'another' }),
      reason: 'first-detected-later',
    },
    {
      name: 'that a history from before the inventory does not know',
      history: [],
      historyAt: instant({ sinceBootMs: TAKEN.sinceBootMs - MINUTE }),
      reason: 'first-detected-later',
    },
    {
      name: 'that the history of the same moment does not know',
      history: [],
      reason: 'first-detected-later',
    },
    { name: 'while the history cannot be read', history: 'unreadable', reason: 'first-detected-later' },
    {
      name: '[D9] used after the inventory',
      history: [[APP, 0, TAKEN.sinceBootMs + 1]],
      reason: 'in-use',
    },
  ])('$name stays', ({ reason, ...given }) => {
    expect(images.of(given)).toBe(reason);
  });

  test('[M31] that is gone needs no removal', () => {
    expect(look({}, imageRemoval([APP]))).toBe('not-found');
  });

  test('that is gone is refused all the same when its command is over', () => {
    expect(look({ now: later(60 * SECOND) }, imageRemoval([APP]))).toBe('expired');
  });
});
