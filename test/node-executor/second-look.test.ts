import { describe, expect, test } from 'vitest';
import type { Command } from '../../schemas/command.ts';
import type { ImageHistoryFile } from '../../schemas/image-history.ts';
import type { Instant } from '../../schemas/time.ts';
import type { Restrictions } from '../../services/node-executor/command-checks.ts';
import { EMPTY_JOURNAL } from '../../services/node-executor/journal-state.ts';
import { NO_LOCAL_RULES } from '../../services/node-executor/local-file.ts';
import { type RuntimeFacts, secondLook } from '../../services/node-executor/second-look.ts';
import type { CompleteListing } from '../../services/shared/cri/listing-types.ts';
import { imageUsage } from '../../services/shared/cri/usage.ts';
import { containerRemoval, imageRemoval } from '../fixtures/command.ts';
import {
  completeListing,
  digestOf,
  imageSpec,
  listedContainer,
  listedSandbox,
  runtimeImage,
} from '../fixtures/listing.ts';
import { instant, MINUTE, NOW, SECOND } from '../fixtures/time.ts';

const APP = digestOf('app');
const LABELS = {
  'io.kubernetes.pod.uid': 'pod-1',
  'io.kubernetes.pod.name': 'web',
  'io.kubernetes.pod.namespace': 'default',
};
const TAKEN = instant();
const later = (ms: number): Instant => instant({ wallTimeMs: NOW + ms, sinceBootMs: TAKEN.sinceBootMs + ms });

const image = () => runtimeImage('app');
const dead = (over = {}) =>
  listedContainer('dead', { state: 'exited', imageId: digestOf('other'), labels: LABELS, ...over });
const idle = (over = {}) =>
  listedSandbox('sandbox-1', {
    state: 'notReady',
    image: 'registry.k8s.io/pause:3.10',
    labels: LABELS,
    ...over,
  });

interface Given {
  readonly name: string;
  readonly command?: Command;
  readonly listing?: Partial<CompleteListing>;
  readonly wanted?: readonly string[] | 'not told yet';
  readonly history?: ImageHistoryFile['images'] | 'unreadable' | null;
  readonly historyAt?: Instant;
  readonly restrictions?: Partial<Restrictions>;
  readonly now?: Instant;
}

const wanting = (reference: string) => ({ uid: 'wanting', images: [reference], finished: false });

function look(given: Omit<Given, 'name'>, command: Command) {
  const listing = completeListing(given.listing);
  const { history = [[APP, 0, null]], historyAt = later(0) } = given;
  const facts: RuntimeFacts = {
    listing,
    usage: imageUsage(listing, given.wanted === 'not told yet' ? null : (given.wanted ?? []).map(wanting)),
    history:
      history === 'unreadable'
        ? { kind: 'unreadable', message: 'damaged' }
        : { kind: 'known', file: history && { version: 1, at: historyAt, images: history } },
  };
  const restrictions: Restrictions = {
    pause: { kind: 'running' },
    local: NO_LOCAL_RULES,
    backoff: [],
    lastActions: EMPTY_JOURNAL.lastActions,
    removalRate: EMPTY_JOURNAL.removalRate,
    ...given.restrictions,
  };
  const [item] = command.items;
  if (!item) throw new Error('a command has an item');
  const verdict = secondLook(command, item, facts, { restrictions, now: given.now ?? later(100) });
  return verdict.action === 'refuse' ? verdict.refusal.reason : verdict.action;
}

const table = (kind: () => Command, object: Partial<CompleteListing>) => ({
  of: ({ name: _, command, ...given }: Given) =>
    look({ ...given, listing: { ...object, ...given.listing } }, command ?? kind()),
});

describe('an image', () => {
  const images = table(() => imageRemoval([APP]), { images: [image()] });

  test.each<Given>([
    { name: 'that nobody uses' },
    { name: '[C10] wanted only under another tag', wanted: ['registry.example/team/app:2'] },
    { name: 'known to the history since before the inventory', history: [[APP, TAKEN.sinceBootMs, null]] },
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
      command: imageRemoval([APP], {
        keep: { patterns: [], digests: [], labels: {}, unpullable: false },
      }),
      listing: { images: [runtimeImage('app', { repoDigests: [] })] },
    },
    {
      name: '[M17] whose back-off ends now',
      restrictions: { backoff: [{ kind: 'image', id: APP, failures: 1, untilMs: NOW + 100 }] },
    },
    {
      name: 'whose back-off was written before the clock was set back',
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
    expect(images.of(given)).toBe('remove');
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
      name: '[M11] that the command keeps by name',
      command: imageRemoval([APP], {
        keep: { patterns: ['registry.example/team/*'], digests: [], labels: {}, unpullable: true },
      }),
      reason: 'kept-by-policy',
    },
    {
      name: '[M11] that the command keeps by label',
      command: imageRemoval([APP], {
        keep: { patterns: [], digests: [], labels: { keep: 'yes' }, unpullable: true },
      }),
      listing: { images: [runtimeImage('app', { labels: { keep: 'yes' } })] },
      reason: 'kept-by-policy',
    },
    {
      name: '[M11] whose labels are not known, when the command keeps by label',
      command: imageRemoval([APP], {
        keep: { patterns: [], digests: [], labels: { keep: 'yes' }, unpullable: true },
      }),
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
    expect(look({}, imageRemoval([APP]))).toBe('none');
  });

  test('that is gone is refused all the same when its command is over', () => {
    expect(look({ now: later(60 * SECOND) }, imageRemoval([APP]))).toBe('expired');
  });
});

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
    expect(containers.of(given)).toBe('remove');
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
    expect(sandboxes.of({ name: '' })).toBe('remove');
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

describe('nothing goes', () => {
  const lastAction = (at: Instant) => ({
    lastActions: { ...EMPTY_JOURNAL.lastActions, image: { at, commandId: 'other' } },
  });

  test.each<Given & { readonly reason: string }>([
    { name: 'at the end of the command', now: later(60 * SECOND), reason: 'expired' },
    { name: 'after a reboot', now: instant({ bootId: 'another' }), reason: 'other-boot' },
    {
      name: 'on an inventory from the future',
      now: instant({ sinceBootMs: TAKEN.sinceBootMs - 1 }),
      reason: 'taken-in-the-future',
    },
    { name: 'after a later action on images', restrictions: lastAction(later(50)), reason: 'superseded' },
    { name: 'after an action of the same instant', restrictions: lastAction(TAKEN), reason: 'superseded' },
    {
      name: 'while the node is paused',
      restrictions: { pause: { kind: 'paused', pause: { reason: 'maintenance' } } },
      reason: 'paused',
    },
    {
      name: 'while a pause could be hidden',
      restrictions: { pause: { kind: 'unreadable', message: 'no broker' } },
      reason: 'held',
    },
    {
      name: "while the node's own file holds",
      restrictions: { local: { ...NO_LOCAL_RULES, hold: true } },
      reason: 'held',
    },
    {
      name: "while the node's own file cannot be understood",
      restrictions: { local: { kind: 'unreadable', message: 'no YAML' } },
      reason: 'held',
    },
    {
      name: 'at the limit of removals per hour',
      restrictions: {
        local: { ...NO_LOCAL_RULES, maxRemovalsPerHour: 2 },
        removalRate: { bootId: TAKEN.bootId, minutes: [{ minute: 24 * 60 - 59, removals: 2 }] },
      },
      reason: 'rate-limited',
    },
    {
      name: 'at a limit of 0 removals per hour',
      restrictions: { local: { ...NO_LOCAL_RULES, maxRemovalsPerHour: 0 } },
      reason: 'rate-limited',
    },
  ])('$name', ({ reason, name: _, ...given }) => {
    const listing = { images: [image()] };
    expect(look({ ...given, listing }, imageRemoval([APP]))).toBe(reason);
  });

  test('of sandboxes while only actions on containers overtook the command', () => {
    const restrictions = {
      lastActions: { ...EMPTY_JOURNAL.lastActions, sandbox: { at: later(50), commandId: 'other' } },
    };
    const command = containerRemoval(['sandbox-1', 'dead']);
    expect(look({ restrictions, listing: { sandboxes: [idle()] } }, command)).toBe('superseded');
  });
});
