import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide as decideContainers } from '../../../packages/deciders/container-gc/decide.ts';
import { planPass } from '../../../packages/deciders/container-gc/rules/plan.ts';
import { decide as decideImages } from '../../../packages/deciders/image-gc/decide.ts';
import { decide as decidePressure } from '../../../packages/deciders/pressure/decide.ts';
import { assumedMet } from '../../../packages/deciders/pressure/rules/eviction.ts';
import { missed } from '../../../packages/decision/thresholds/wanted-reclaim.ts';
import { afterContainers } from '../../../packages/plan/pass.ts';
import type { CompleteInventory, InventoryImage } from '../../../schemas/events/inventory.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import { EvictionSignal } from '../../../schemas/policy/eviction.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { Plan, type PlanTrigger } from '../../../schemas/reports/plan.ts';
import { shuffled } from '../../fixtures/arbitrary-node.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { NOW } from '../../fixtures/time.ts';
import { runs } from '../../support/property-runs.ts';
import { arbitraryContainerNode, arbitraryContainerPolicy } from '../deciders/container-gc/arbitrary.ts';
import { plan } from './support.ts';

const MANY = runs(300);

/** Some images are those of the node's containers, in use until the look or last used before. */
const imageOf = (containers: CompleteInventory['containers'], image: InventoryImage): InventoryImage => {
  const users = containers.filter(({ id }) => id.length % 2 === image.sizeBytes % 2).slice(0, 1);
  return users.length === 0 || image.usedBy.length === 0
    ? image
    : { ...image, usedBy: users.map(({ id }) => ({ kind: 'container', id })), lastUsedMs: NOW };
};

const node = fc
  .record({ base: arbitraryContainerNode, own: fc.boolean(), split: fc.boolean() })
  .map(({ base, own, split }): CompleteInventory => {
    const { nodefs, imagefs, containerfs } = base.filesystems;
    return {
      ...base,
      reclaim: null,
      images: own ? base.images.map((image) => imageOf(base.containers, image)) : base.images,
      filesystems: {
        nodefs,
        containerfs,
        imagefs: split && imagefs ? { ...imagefs, device: '8:2' } : imagefs,
      },
    };
  });

const policy = fc
  .record({ base: arbitraryContainerPolicy, maximumAgeMs: fc.constantFrom(0, 0, 3_000) })
  .map(({ base, maximumAgeMs }): Policy => ({ ...base, imageMaximumGCAgeMs: maximumAgeMs }));

const signal = fc.constantFrom(...EvictionSignal.options);
const trigger = fc.oneof(
  fc.constantFrom<PlanTrigger>('periodic', 'forced'),
  signal.map((name): PlanTrigger => `eviction:${name}`),
);

type Check = (given: CompleteInventory, policy: Policy, trigger: PlanTrigger) => void;
const holds = (check: Check): void => fc.assert(fc.property(node, policy, trigger, check), MANY);

const key = ({ kind, id }: Plan['remove'][number]): string => `${kind} ${id}`;

describe('any plan', () => {
  test('[M38] answers for every object exactly once, in words, and in the form that is documented', () => {
    holds((given, settings, asked) => {
      const made = plan(given, { ...settings, trigger: asked });
      const all = [...made.remove, ...made.keep];
      const { containers, sandboxes, images } = given;
      const logs = [...(given.podLogDirectories ?? []), ...(given.logSymlinks ?? [])];

      expect(Plan.parse(made)).toEqual(made);
      expect(all.map(({ id }) => id).toSorted()).toEqual(
        [
          ...[...containers, ...sandboxes, ...images].map(({ id }) => id),
          ...logs.map(({ name }) => name),
        ].toSorted(),
      );
      expect(all.filter(({ because }) => /^rule /.test(because))).toEqual([]);
      expect(all.filter(({ name }) => name === '')).toEqual([]);
    });
  });

  test('[K2] never holds what runs, is ready, is pinned, or is used by what stays', () => {
    holds((given, settings, asked) => {
      const going = new Set(plan(given, { ...settings, trigger: asked }).remove.map(({ id }) => id));
      const stays = given.containers.filter(({ id }) => !going.has(id)).map(({ id }) => id);

      expect(given.containers.filter(({ id, state }) => going.has(id) && state === 'running')).toEqual([]);
      expect(given.sandboxes.filter(({ id, state }) => going.has(id) && state === 'ready')).toEqual([]);
      expect(
        given.images.filter(
          ({ id, pinned, usedBy }) =>
            going.has(id) &&
            (pinned || usedBy.some((user) => user.kind === 'container' && stays.includes(user.id))),
        ),
      ).toEqual([]);
    });
  });

  test('of equal input has equal bytes, and the order of the listing makes no difference', () => {
    const both = node.chain((given) => fc.tuple(fc.constant(given), shuffled(given)));
    fc.assert(
      fc.property(both, policy, trigger, ([given, mixed], settings, asked) => {
        const made = plan(given, { ...settings, trigger: asked });
        const again = plan(structuredClone(given), { ...settings, trigger: asked });
        const ofMixed = plan(mixed, { ...settings, trigger: asked });

        expect(JSON.stringify(again)).toBe(JSON.stringify(made));
        expect(ofMixed.remove).toEqual(made.remove);
        expect(ofMixed.keep.map(key).toSorted()).toEqual(made.keep.map(key).toSorted());
      }),
      MANY,
    );
  });
});

/** Without what a command leaves out of a plan of the kubelet's, which tries at once what failed (M33). */
const untried = (given: CompleteInventory): CompleteInventory => {
  const first = <T extends { readonly backoff: unknown }>(one: T) => ({ ...one, backoff: null });
  return {
    ...given,
    images: given.images.map(first),
    containers: given.containers.map(first),
    sandboxes: given.sandboxes.map(first),
    podLogDirectories: given.podLogDirectories?.map(first) ?? null,
    logSymlinks: given.logSymlinks?.map(first) ?? null,
  };
};

const toLine = ({ kind, id, rule }: { readonly kind: string; readonly id: string; readonly rule: string }) =>
  `${kind} ${id} ${rule}`;

/** What the services command for a reclaim, step by step, each on a look of its own. */
function commanded(given: CompleteInventory, settings: Policy, reclaim: Reclaim) {
  const [containers, images] = [reclaim.actions.includes('containers'), reclaim.actions.includes('images')];
  const atContainers = { ...given, reclaim: { ...reclaim, step: 'containers' as const } };
  const removed = containers
    ? planPass({
        inventory: atContainers,
        policy: settings,
        evictNonDeletedPods: reclaim.cause.signal.includes('.'),
        waits: false,
        isForCommand: true,
      })
    : { containers: [], sandboxes: [] };
  const after = { ...afterContainers(given, removed), reclaim: { ...reclaim, step: 'images' as const } };
  return {
    pods: containers ? decideContainers(atContainers, settings).items.map(toLine) : [],
    images: images ? decideImages(after, settings).items.map(toLine) : [],
    mostImages: Math.max(1, Math.floor(given.images.length / 2)),
  };
}

function expectSame(made: Plan, { pods, images, mostImages }: ReturnType<typeof commanded>): void {
  const ofImages = made.remove.filter(({ kind }) => kind === 'image').map(toLine);
  expect(made.remove.filter(({ kind }) => kind !== 'image').map(toLine)).toEqual(pods);
  // A command is cut where the plan goes on (P5).
  expect(images).toEqual(ofImages.slice(0, mostImages));
}

describe('the plan is what the services command', () => {
  test('[J5, P5] for a reclaim that an eviction signal begins', () => {
    fc.assert(
      fc.property(node, policy, signal, (given, settings, name) => {
        const enforced = { ...settings, imageMaximumGCAgeMs: 0 };
        const asked = settings.profile === 'kubelet' ? untried(given) : given;
        const begun = assumedMet(name, asked, enforced);
        fc.pre(begun.kind === 'met' && missed(begun.target, asked.filesystems) !== null);
        const { cause, target, actions, step } = begun;
        const reclaim: Reclaim = { id: 'r', cause, target, actions, step, round: 1 };

        expectSame(
          plan(asked, { ...enforced, trigger: `eviction:${name}` }),
          commanded(asked, enforced, reclaim),
        );
      }),
      MANY,
    );
  });

  test('[D3, P5] for a reclaim that the usage of the disk begins', () => {
    fc.assert(
      fc.property(node, policy, (given, settings) => {
        const enforced = { ...settings, imageMaximumGCAgeMs: 0, evictionThresholds: [] };
        const asked = settings.profile === 'kubelet' ? untried(given) : given;
        const { begin } = decidePressure(diskStats({}, { filesystems: asked.filesystems }), enforced);
        fc.pre(begin !== null);

        expectSame(plan(asked, enforced), commanded(asked, enforced, { id: 'r', ...begin, round: 1 }));
      }),
      MANY,
    );
  });
});
