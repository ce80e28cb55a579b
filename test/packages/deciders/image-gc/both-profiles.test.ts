import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/image-gc/decide.ts';
import { planImageCommand, planImages } from '../../../../packages/deciders/image-gc/plan-images.ts';
import type { InventoryImage } from '../../../../schemas/events/inventory.ts';
import { keepMatcher, unpullableBecause } from '../../../../schemas/policy/image-pattern.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { inventory } from '../../../fixtures/inventory.ts';
import { policy } from '../../../fixtures/policy.ts';
import { NOW } from '../../../fixtures/time.ts';
import { runs } from '../../../support/property-runs.ts';
import { arbitraryCase, type Case, caseTwice, KEEP_NOTHING } from './support/arbitrary-case.ts';

const MANY = runs(1_500);
const holds = (check: (one: Case) => void) => fc.assert(fc.property(arbitraryCase, check), MANY);

const planned = ({ given, settings, mode }: Case) => planImages(given, settings, mode);
const removed = (one: Case): string[] => planned(one).removals.map(({ image }) => image.id);

const never = (isProtected: (image: InventoryImage, one: Case, rule: string) => boolean) =>
  holds((one) => {
    const wrong = planned(one).removals.filter(({ image, rule }) => isProtected(image, one, rule));
    expect(wrong).toEqual([]);
  });

describe('in any mode, on any node, under any policy of either profile, never goes an image that is', () => {
  test('[K2, C8] in use by a container', () =>
    never(({ usedBy }) => usedBy.some(({ kind }) => kind === 'container')));
  test('[C10, M5, M9] in use by anything, in the profile fleetgc', () =>
    never(({ usedBy }, { settings }) => settings.profile === 'fleetgc' && usedBy.length > 0));
  test('[K2, D7, M10] pinned', () => never(({ pinned }) => pinned));
  test('[D10, M3, J20] too young, by age in the profile kubelet excepted [E4]', () =>
    never(
      ({ firstDetectedMs }, { settings }, rule) =>
        NOW - firstDetectedMs < settings.imageMinimumGCAgeMs &&
        !(settings.profile === 'kubelet' && rule === 'E3'),
    ));
  test('[D9] used since the inventory was taken', () => never(({ lastUsedMs }) => (lastUsedMs ?? 0) >= NOW));
  test('[M2] detected after the inventory was taken', () =>
    never(({ firstDetectedMs }) => firstDetectedMs > NOW));
  test('[M11] on the keep list', () =>
    never((image, { settings }) => keepMatcher(settings.keep).keptBy(image) !== undefined));
  test('[M11] one that cannot be pulled again, unless the policy says so', () =>
    never((image, { settings }) => settings.keep.unpullable && unpullableBecause(image) !== undefined));
  test('[M12] one that is not known to be pulled, unless the policy says so', () =>
    never(({ origin }, { settings }) => settings.keep.unpullable && origin !== undefined));
  test('[M11] the newest of its repository, where versions are kept', () =>
    never(
      (image, { given, settings }) =>
        settings.keep.lastVersions > 0 &&
        image.repoTags.some((tag) => {
          const repository = tag.replace(/:[^:]*$/, '');
          const others = given.images.filter(({ repoTags }) =>
            repoTags.some((name) => name.startsWith(`${repository}:`)),
          );
          const believed = others.filter(({ firstDetectedMs }) => firstDetectedMs <= NOW);
          return believed.every((other) => other === image || other.firstDetectedMs < image.firstDetectedMs);
        }),
    ));
  test('[M33] in backoff, in the profile fleetgc, and in a command of either', () => {
    never(({ backoff }, { settings }) => settings.profile === 'fleetgc' && (backoff?.untilMs ?? 0) > NOW);
    holds(({ given, settings }) => {
      const ids = decide(given, settings).items.map(({ id }) => id);
      const failed = given.images.filter(({ backoff }) => (backoff?.untilMs ?? 0) > NOW);
      expect(failed.filter(({ id }) => ids.includes(id))).toEqual([]);
    });
  });
  test('[E3] not old enough, when it goes by age', () =>
    never(
      ({ lastUsedMs }, { settings }, rule) =>
        rule === 'E3' && lastUsedMs !== null && NOW - lastUsedMs <= settings.imageMaximumGCAgeMs,
    ));
  test('[E2, M2] not watched for longer than the maximum age, when it goes by age in the profile fleetgc', () =>
    never(
      (_, { given, settings }, rule) =>
        rule === 'E3' &&
        settings.profile === 'fleetgc' &&
        NOW - (given.imagesWatchedSinceMs ?? NOW) <= settings.imageMaximumGCAgeMs,
    ));
});

/** Ways to protect one image more. */
const PROTECTIONS: Readonly<Record<string, (image: InventoryImage) => InventoryImage>> = {
  'one more user': (image) => ({
    ...image,
    usedBy: [...image.usedBy, { kind: 'container', id: 'new' }],
  }),
  'no pull': (image) => ({ ...image, origin: 'not-pulled' }),
  'a pin': (image) => ({ ...image, pinned: true }),
  'a later first detection': (image) => ({
    ...image,
    firstDetectedMs: Math.max(image.firstDetectedMs, NOW - 1),
  }),
  'a use at the time of the inventory': (image) => ({ ...image, lastUsedMs: NOW }),
};

/** All that a plan could take if its target were further away. */
const takable = (one: Case): ReadonlySet<string> => {
  const { removals, spared } = planned(one);
  return new Set([...removals, ...spared.filter(({ rule }) => rule === 'D12')].map(({ image }) => image.id));
};

const addsNothing = (before: Case, after: Case) => {
  const possible = takable(before);
  expect(removed(after).filter((id) => !possible.has(id))).toEqual([]);
};

describe('[K2] one protection more never makes an image go that could not go before', () => {
  test.each(Object.entries(PROTECTIONS))('%s', (_, protect) => {
    fc.assert(
      fc.property(arbitraryCase, fc.nat(15), (one, seed) => {
        // A newer image takes the place of the oldest that keep.lastVersions kept, which may then go (M11). Here it is off.
        const settings = { ...one.settings, keep: { ...one.settings.keep, lastVersions: 0 } };
        const chosen = seed % Math.max(1, one.given.images.length);
        const images = one.given.images.map((image, index) => (index === chosen ? protect(image) : image));
        addsNothing({ ...one, settings }, { ...one, settings, given: { ...one.given, images } });
      }),
      MANY,
    );
  });

  test('a container that names an image by its id', () => {
    fc.assert(
      fc.property(arbitraryCase, fc.nat(15), (one, seed) => {
        const imageId = `image-${seed}`;
        const containers = one.given.containers.map((container) => ({ ...container, imageId }));
        const after = { ...one, given: { ...one.given, containers } };
        addsNothing(one, after);
        if (containers.length > 0) expect(removed(after)).not.toContain(imageId);
      }),
      MANY,
    );
  });

  test.each<{ name: string; stricter: (settings: Policy) => Policy }>([
    {
      name: 'a pattern',
      stricter: (settings) => withKeep(settings, { patterns: ['registry.example/image-2'] }),
    },
    { name: 'a label', stricter: (settings) => withKeep(settings, { labels: { keep: 'yes' } }) },
    { name: 'a namespace', stricter: (settings) => withKeep(settings, { namespaces: ['default'] }) },
    { name: 'unpullable', stricter: (settings) => withKeep(settings, { unpullable: true }) },
    { name: 'the last version', stricter: (settings) => withKeep(settings, { lastVersions: 1 }) },
    {
      name: 'a longer minimum age',
      stricter: (settings) => ({
        ...settings,
        keep: KEEP_NOTHING,
        imageMinimumGCAgeMs: settings.imageMinimumGCAgeMs + 1_000,
      }),
    },
  ])('a keep rule or age: $name', ({ stricter }) => {
    holds((one) => {
      const before = { ...one, settings: { ...one.settings, keep: KEEP_NOTHING } };
      addsNothing(before, { ...one, settings: stricter(before.settings) });
    });
  });
});

const withKeep = (settings: Policy, keep: Partial<Policy['keep']>): Policy => ({
  ...settings,
  keep: { ...settings.keep, ...keep },
});

test('[K1, K2] the plan and the decision do not depend on the order of the listing', () => {
  fc.assert(
    fc.property(caseTwice, ([one, other]) => {
      expect(removed(other)).toEqual(removed(one));
      const ids = ({ given, settings }: Case) => decide(given, settings).items.map(({ id }) => id);
      expect(ids(other)).toEqual(ids(one));
    }),
    MANY,
  );
});

test('[M6] the same input gives the same bytes', () => {
  holds((one) => {
    const again = structuredClone(one);
    expect(JSON.stringify(decide(again.given, again.settings))).toBe(
      JSON.stringify(decide(one.given, one.settings)),
    );
  });
});

test('[P4, P5, K8] a command is the beginning of the plan, at most half of the listed images, at least one', () => {
  holds((one) => {
    const { given, settings, mode } = one;
    const { items } = decide(given, settings);
    const { removals } = planImageCommand(
      given,
      settings,
      given.reclaim === null || mode === 'periodic' ? 'age' : mode,
    );
    const whole = removals.map(({ image }) => image.id);
    const most = Math.min(50, Math.max(1, Math.floor(given.images.length / 2)));
    expect(items.map(({ id }) => id)).toEqual(whole.slice(0, most));
  });
});

test('[M38] every image has one verdict, and exactly what goes has the verdict to go', () => {
  holds(({ given, settings }) => {
    const { items, verdicts } = decide(given, settings);
    expect(verdicts.map(({ position }) => position)).toEqual([...given.images.keys()]);
    const goes = verdicts.filter(({ action }) => action === 'remove');
    expect(goes.map(({ position }) => given.images[position]?.id).toSorted()).toEqual(
      items.map(({ id }) => id).toSorted(),
    );
  });
});

test('[C8] nothing goes while a container names no image', () => {
  holds((one) => {
    const doubtful = { ...one, given: { ...one.given, containersWithoutImage: ['container-0'] } };
    expect(removed(doubtful)).toEqual([]);
  });
});

test('[C8] the record names the container that keeps all images', () => {
  const { notBelieved } = decide(inventory({ containersWithoutImage: ['container-7'] }), policy());
  expect(notBelieved).toMatchObject([
    { rule: 'C8', message: expect.stringMatching(/any image may be theirs.*: container-7$/) },
  ]);
});

test('all of this is said of plans that remove something', () => {
  const tally = new Map<string, number>();
  const count = fc.property(arbitraryCase, (one) => {
    const key = `${one.settings.profile} ${one.mode}`;
    tally.set(key, (tally.get(key) ?? 0) + Number(removed(one).length > 0));
  });
  // Few cases of a kind may well hold no removal, so a quick run checks more of them than a share; always the same.
  fc.assert(count, { numRuns: Math.max(300, MANY.numRuns), seed: 1 });
  expect(tally.size).toBe(8);
  expect(Math.min(...tally.values())).toBeGreaterThan(MANY.numRuns / 150);
});
