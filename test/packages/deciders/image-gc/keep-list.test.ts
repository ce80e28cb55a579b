import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/image-gc/decide.ts';
import type { CompleteInventory, InventoryImage } from '../../../../schemas/events/inventory.ts';
import type { Policy, PolicyKeep } from '../../../../schemas/policy/policy.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { keepList, policy } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { HOUR, NOW } from '../../../fixtures/time.ts';

const USED = Array.from({ length: 10 }, (_, index) =>
  image(`used-${index}`, {
    repoTags: [],
    repoDigests: [],
    usedBy: [{ kind: 'container', id: 'c' }],
  }),
);
const decided = (
  keep: Partial<PolicyKeep>,
  images: readonly InventoryImage[],
  facts: Partial<CompleteInventory> = {},
) =>
  decide(
    inventory({ images: [...images, ...USED], reclaim: reclaim(), ...facts }),
    policy({ keep: keepList(keep) }),
  );
const removed = (...args: Parameters<typeof decided>) =>
  decided(...args)
    .items.map(({ id }) => id)
    .toSorted();

const DIGEST = `sha256:${'a'.repeat(64)}`;

describe('[M11, M12] what cannot be pulled again', () => {
  test.each([
    { repoDigests: [], stays: true },
    { repoDigests: [`localhost/app@${DIGEST}`], stays: true },
    { repoDigests: [`app@${DIGEST}`], stays: true },
    { repoDigests: [`team/app@${DIGEST}`], stays: true },
    { repoDigests: [`registry.example/app@${DIGEST}`], stays: false },
    { repoDigests: [`localhost:5000/app@${DIGEST}`], stays: false },
    { repoDigests: [`localhost/app@${DIGEST}`, `docker.io/library/app@${DIGEST}`], stays: false },
  ])('$repoDigests: stays $stays', ({ repoDigests, stays }) => {
    const given = [image('a', { repoDigests })];
    expect(removed({}, given)).toEqual(stays ? [] : ['a']);
    expect(removed({ unpullable: false }, given)).toEqual(['a']);
  });

  test('is told with its reason', () => {
    const { verdicts, holders } = decided({}, [image('a', { repoDigests: [`localhost/a@${DIGEST}`] })]);
    expect(verdicts[0]).toMatchObject({
      rule: 'M11',
      facts: { unpullable: 'its name has no registry', repoDigests: 1 },
    });
    expect(holders).toContainEqual({ reason: 'no-digest', objects: 1, bytes: 10 });
  });
});

describe('[M12] what this node did not pull', () => {
  const judged = (profile: Policy['profile'], unpullable: boolean, given: InventoryImage) => {
    const facts = inventory({ images: [given, ...USED], reclaim: reclaim() });
    const { verdicts, holders } = decide(facts, policy({ profile, keep: keepList({ unpullable }) }));
    return { verdict: verdicts[0], holders };
  };
  const BOTH = ['fleetgc', 'kubelet'] as const;

  describe.each(BOTH)('in profile %s', (profile) => {
    test.each(['not-pulled', 'unknown'] as const)('%s: stays, whatever its names say', (origin) => {
      const { verdict, holders } = judged(profile, true, image('a', { origin }));
      expect(verdict).toMatchObject({ action: 'keep', rule: 'M12', facts: { origin } });
      expect(holders).toContainEqual({ reason: 'no-digest', objects: 1, bytes: 10 });
    });

    test.each(['not-pulled', 'unknown'] as const)('%s: goes where the policy says so', (origin) => {
      expect(judged(profile, false, image('a', { origin })).verdict).toMatchObject({ action: 'remove' });
    });

    test.each(['v2.1.5-k3s1', '1.7.23+k3s2', 'v2.0.5-RKE2.1'])(
      'on a runtime of version %s no image counts as pulled',
      (version) => {
        const judgedThere = (unpullable: boolean) =>
          decide(
            inventory({
              images: [image('a'), ...USED],
              reclaim: reclaim(),
              runtime: { name: 'containerd', version },
            }),
            policy({ profile, keep: keepList({ unpullable }) }),
          ).verdicts[0];
        expect(judgedThere(true)).toMatchObject({
          action: 'keep',
          rule: 'M12',
          facts: { origin: 'unknown', runtimeVersion: version },
        });
        expect(judgedThere(false)).toMatchObject({ action: 'remove' });
      },
    );

    test('one that was pulled, or of which no runtime can tell it, goes', () => {
      expect(judged(profile, true, image('a')).verdict).toMatchObject({ action: 'remove' });
    });
  });

  test('[M11] of one without a repo digest that is the reason, as on any runtime', () => {
    const given = image('a', { origin: 'not-pulled', repoDigests: [] });
    expect(judged('fleetgc', true, given).verdict).toMatchObject({ rule: 'M11' });
  });
});

describe('[M11] the last versions of a repository', () => {
  const version = (id: string, tag: string, hoursAgo: number, repository = 'registry.example/app') =>
    image(id, {
      repoTags: [`${repository}:${tag}`],
      repoDigests: [`${repository}@${DIGEST}`],
      firstDetectedMs: NOW - hoursAgo * HOUR,
    });

  test.each([
    { lastVersions: 0, goes: ['v1', 'v2', 'v3'] },
    { lastVersions: 1, goes: ['v1', 'v2'] },
    { lastVersions: 2, goes: ['v1'] },
    { lastVersions: 3, goes: [] },
    { lastVersions: 9, goes: [] },
  ])('of three, the newest $lastVersions stay', ({ lastVersions, goes }) => {
    const images = [version('v2', '2', 20), version('v3', '3', 10), version('v1', '1', 30)];
    expect(removed({ lastVersions }, images)).toEqual(goes);
  });

  test('by first detection, whatever the tags', () => {
    expect(removed({ lastVersions: 1 }, [version('a', '1', 10), version('b', '2', 20)])).toEqual(['b']);
  });

  test.each([
    { name: 'numbers in tags as numbers', tags: ['v1.9', 'v1.10'] },
    { name: 'text in tags as text', tags: ['alpha', 'beta'] },
    { name: 'no tag as the lowest', tags: ['', 'a'] },
    { name: 'a longer tag as the higher', tags: ['v1', 'v1.0'] },
    { name: 'very long numbers exactly', tags: ['9007199254740992', '9007199254740993'] },
  ])('detected together, by tag: $name', ({ tags: [lower = '', higher = ''] }) => {
    const images = [version('low', lower, 10), version('high', higher, 10)];
    expect(removed({ lastVersions: 1 }, images)).toEqual(['low']);
    expect(removed({ lastVersions: 1 }, images.toReversed())).toEqual(['low']);
  });

  test('that nothing tells apart are kept together', () => {
    const untagged = (id: string) =>
      image(id, { repoTags: [], repoDigests: [`registry.example/app@${DIGEST}`] });
    expect(removed({ lastVersions: 1 }, [untagged('a'), untagged('b')])).toEqual([]);
  });

  test('are counted for each repository, images in use too', () => {
    const images = [
      { ...version('used', '2', 10), usedBy: [{ kind: 'container' as const, id: 'c' }] },
      version('unused', '1', 20),
      version('other', '1', 30, 'registry.example/other'),
    ];
    const { verdicts } = decided({ lastVersions: 1 }, images);
    expect(verdicts.slice(0, 3)).toMatchObject([
      { rule: 'C8' },
      { action: 'remove' },
      { rule: 'M11', facts: { keptVersionOf: 'registry.example/other' } },
    ]);
  });

  test('[M2] are not counted by what is not believed: nothing loses its place to it', () => {
    const images = [version('real', '1', 20), version('future', '2', -1)];
    expect(removed({ lastVersions: 1 }, images)).toEqual([]);
  });
});

describe('[M11] keep rules that match nothing are noted', () => {
  const messages = (...args: Parameters<typeof decided>) =>
    (decided(...args).notes ?? []).map(({ rule, message }) => `${rule}: ${message}`);

  test.each<{ name: string; keep: Partial<PolicyKeep>; says: string }>([
    { name: 'a pattern', keep: { patterns: ['mispelt/*'] }, says: 'keep rule mispelt/*' },
    { name: 'a digest', keep: { digests: [`sha256:${'b'.repeat(64)}`] }, says: 'keep rule sha256:bbb' },
    { name: 'a label', keep: { labels: { keep: 'yes' } }, says: 'keep rule keep=yes' },
  ])('$name', ({ keep, says }) => {
    expect(messages(keep, [image('a')])).toEqual([expect.stringContaining(says)]);
  });

  test('and so are versions where no image belongs to a repository', () => {
    expect(messages({ lastVersions: 1 }, [])).toEqual([expect.stringContaining('versions are kept')]);
    expect(messages({ lastVersions: 1 }, [image('a')])).toEqual([]);
  });

  test('but not those that match something, be it protected anyway', () => {
    const keep = {
      patterns: ['registry.example/a:1', 'registry.example/*'],
      digests: [DIGEST],
      labels: { keep: 'yes' },
    };
    const given = [image('a', { labels: { keep: 'yes' }, pinned: true })];
    expect(messages(keep, given)).toEqual([]);
    expect(messages({ labels: { keep: 'yes' } }, [image('a', { labels: null })])).toEqual([]);
  });

  test('nor namespaces, which container-gc notes', () => {
    expect(messages({ namespaces: ['nowhere'] }, [image('a')])).toEqual([]);
  });

  test('without a reclaim too', () => {
    expect(messages({ patterns: ['mispelt/*'] }, [image('a')], { reclaim: null })).toHaveLength(1);
  });
});
