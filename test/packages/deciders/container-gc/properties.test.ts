import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/container-gc/decide.ts';
import type { CompleteInventory, InventoryPod } from '../../../../schemas/events/inventory.ts';
import { containerIdOfSymlink } from '../../../../schemas/events/pod-log-entries.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { shuffled } from '../../../fixtures/arbitrary-node.ts';
import { incompleteInventory, tooLargeInventory } from '../../../fixtures/inventory.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { NOW } from '../../../fixtures/time.ts';
import { ofKind } from '../../../fixtures/verdicts.ts';
import { runs } from '../../../support/property-runs.ts';
import { arbitraryContainerNode, arbitraryContainerPolicy } from './arbitrary.ts';
import { referencePass } from './reference.ts';

const MANY = runs(1_000);

/** Outside a reclaim or at its containers, sometimes right after deaths. */
const node = fc
  .record({
    base: arbitraryContainerNode,
    died: fc.subarray(['container0', 'container1', 'container2']),
  })
  .map(
    ({ base, died }): CompleteInventory => ({
      ...base,
      trigger: died.length > 0 ? 'container-died' : 'interval',
      diedContainerIds: died,
    }),
  );

const plan = (given: CompleteInventory, settings: Policy) => {
  const all = decide(given, settings).items;
  const idsOf = (kind: string) => all.filter((item) => item.kind === kind).map(({ id }) => id);
  const isLog = ({ kind }: (typeof all)[number]) => kind === 'pod-log-directory' || kind === 'log-symlink';
  const [items, logItems] = [all.filter((item) => !isLog(item)), all.filter(isLog)];
  return { items, logItems, containers: idsOf('container'), sandboxes: idsOf('sandbox') };
};

const holds = (check: (given: CompleteInventory, settings: Policy) => void): void =>
  fc.assert(fc.property(node, arbitraryContainerPolicy, check), MANY);

const inFleetGc = (check: (given: CompleteInventory, settings: Policy) => void): void =>
  holds((given, settings) => check(given, { ...settings, profile: 'fleetgc' }));

const ageNs = ({ createdAtNs }: { readonly createdAtNs: string }): bigint =>
  BigInt(NOW) * 1_000_000n - BigInt(createdAtNs);

describe('on any node, under any policy', () => {
  test('[K2, G3, H3] nothing running and nothing ready ever goes', () => {
    holds((given, settings) => {
      const { containers, sandboxes } = plan(given, settings);
      const running = given.containers.filter(({ state }) => state === 'running');
      const ready = given.sandboxes.filter(({ state }) => state === 'ready');
      expect(running.filter(({ id }) => containers.includes(id))).toEqual([]);
      expect(ready.filter(({ id }) => sandboxes.includes(id))).toEqual([]);
    });
  });

  test('[A12, M41] nothing without the kubelet labels ever goes', () => {
    inFleetGc((given, settings) => {
      const { containers, sandboxes } = plan(given, settings);
      const foreign = [...given.containers, ...given.sandboxes].filter(({ pod }) => pod === null);
      expect(foreign.filter(({ id }) => [...containers, ...sandboxes].includes(id))).toEqual([]);
    });
  });

  test('[M33, G20] nothing in backoff and nothing with a log path that is not trusted ever goes', () => {
    holds((given, settings) => {
      const ids = plan(given, settings).items.map(({ id }) => id);
      const backingOff = [...given.containers, ...given.sandboxes].filter(
        ({ backoff }) => backoff !== null && backoff.untilMs > NOW,
      );
      const untrusted = given.containers.filter(({ logPath }) => logPath === '' || logPath === '/var/log/*');
      expect([...backingOff, ...untrusted].filter(({ id }) => ids.includes(id))).toEqual([]);
    });
  });

  test('[G3, M32, G23] nothing younger than its minimum age goes, except what a death takes', () => {
    inFleetGc((given, settings) => {
      const byPass = new Set(
        plan(given, settings)
          .items.filter(({ rule }) => rule !== 'G23')
          .map(({ id }) => id),
      );
      const minimumMs = (state: string) =>
        Math.max(
          settings.minimumContainerTTLMs,
          state === 'created' ? settings.minimumCreatedContainerAgeMs : 0,
        );
      const young = given.containers.filter((one) => ageNs(one) < BigInt(minimumMs(one.state)) * 1_000_000n);
      expect(young.filter(({ id }) => byPass.has(id))).toEqual([]);
    });
  });

  test('[H1] no sandbox goes while a container that stays names it', () => {
    holds((given, settings) => {
      const { containers, sandboxes } = plan(given, settings);
      const staying = given.containers.filter(({ id }) => !containers.includes(id));
      expect(staying.filter(({ sandboxId }) => sandboxes.includes(sandboxId))).toEqual([]);
    });
  });

  test('[G6, A8, K1] nothing goes as of a removed pod unless its pod may go and the sources have delivered', () => {
    holds((given, settings) => {
      const gone = new Set(given.pods.filter((pod) => mayGo(pod, given, settings)).map(({ uid }) => uid));
      const taken = plan(given, settings).items.filter(({ rule }) => rule === 'G6');
      if (!given.allSourcesReady) expect(taken).toEqual([]);
      const uids = taken.map(({ id }) => given.containers.find((one) => one.id === id)?.pod?.uid ?? '');
      expect(uids.filter((uid) => !gone.has(uid))).toEqual([]);
    });
  });

  test('[H2, H7] every pod that is not gone keeps its newest sandbox', () => {
    inFleetGc((given, settings) => {
      const { sandboxes } = plan({ ...given, pods: [] }, settings);
      const ours = given.sandboxes.filter(({ pod }) => pod !== null);
      for (const ofPod of Map.groupBy(ours, ({ podUid }) => podUid).values())
        expect(ofPod.filter(({ id }) => !sandboxes.includes(id)).length).toBeGreaterThan(0);
    });
  });

  test('[M38] every object has one verdict, and exactly what goes has the verdict to go', () => {
    holds((given, settings) => {
      const { verdicts } = decide(given, settings);
      const { items, logItems } = plan(given, settings);
      const { podLogDirectories: directories, logSymlinks: links } = given;
      expect(ofKind(verdicts, 'pod-log-directory').map(({ position }) => position)).toEqual([
        ...(directories ?? []).keys(),
      ]);
      expect(ofKind(verdicts, 'log-symlink').map(({ position }) => position)).toEqual([
        ...(links ?? []).keys(),
      ]);
      const namesOf = (list: readonly { readonly name: string }[] | null, of: typeof verdicts) =>
        of.filter(({ action }) => action === 'remove').map(({ position }) => list?.[position]?.name);
      expect([
        ...namesOf(directories, ofKind(verdicts, 'pod-log-directory')),
        ...namesOf(links, ofKind(verdicts, 'log-symlink')),
      ]).toEqual(logItems.map(({ id }) => id));
      expect(ofKind(verdicts, 'container').map(({ position }) => position)).toEqual([
        ...given.containers.keys(),
      ]);
      expect(ofKind(verdicts, 'sandbox').map(({ position }) => position)).toEqual([
        ...given.sandboxes.keys(),
      ]);
      const goes = [
        ...ofKind(verdicts, 'container')
          .filter(({ action }) => action === 'remove')
          .map((v) => given.containers[v.position]?.id),
        ...ofKind(verdicts, 'sandbox')
          .filter(({ action }) => action === 'remove')
          .map((v) => given.sandboxes[v.position]?.id),
      ];
      expect(goes.toSorted()).toEqual(items.map(({ id }) => id).toSorted());
    });
  });

  test('[G13, H5] the order of the listing changes neither what goes nor in which order', () => {
    const withOther = node.chain((given) => fc.tuple(fc.constant(given), shuffled(given)));
    fc.assert(
      fc.property(withOther, arbitraryContainerPolicy, ([given, other], settings) => {
        expect(plan(other, settings).items).toEqual(plan(given, settings).items);
      }),
      MANY,
    );
  });

  test('[I3, A7, A8, K1] no log directory goes unless its pod is removable and the sources have delivered', () => {
    holds((given, settings) => {
      const uids = plan(given, settings).logItems.flatMap((item) =>
        item.kind === 'pod-log-directory' ? [item.podUid] : [],
      );
      if (!given.allSourcesReady) expect(uids).toEqual([]);
      const periodic = { ...given, reclaim: null };
      const gone = given.pods.filter((pod) => mayGo(pod, periodic, settings)).map(({ uid }) => uid);
      expect(uids.filter((uid) => !gone.includes(uid))).toEqual([]);
    });
  });

  test('[I7, M35] no symlink goes that can be of a container that has not exited', () => {
    inFleetGc((given, settings) => {
      const alive = given.containers.filter(({ state }) => state !== 'exited').map(({ id }) => id);
      const ids = plan(given, settings).logItems.flatMap(({ kind, id }) =>
        kind === 'log-symlink' ? [containerIdOfSymlink(id) ?? ''] : [],
      );
      const exited = new Set(given.containers.filter(({ state }) => state === 'exited').map(({ id }) => id));
      const inDoubt = ids.filter((id) => !exited.has(id) && alive.some((one) => one.startsWith(id)));
      expect([...inDoubt, ...ids.filter((id) => alive.includes(id))]).toEqual([]);
    });
  });

  test('[M11] one more namespace to keep never makes another object go', () => {
    holds((given, settings) => {
      const more = {
        ...settings,
        keep: { ...settings.keep, namespaces: [...settings.keep.namespaces, 'system'] },
      };
      // The link of a container goes with it, and on its own where the container stays.
      expect(withoutLinks(added(plan(given, settings), plan(given, more)))).toEqual([]);
    });
  });

  test('[G3, M26, M32] a higher minimum age never makes another container or sandbox go', () => {
    holds((given, settings) => {
      const older = {
        ...settings,
        minimumContainerTTLMs: settings.minimumContainerTTLMs + 2_000,
        minimumCreatedContainerAgeMs: settings.minimumCreatedContainerAgeMs + 2_000,
      };
      const [before, after] = [plan(given, settings), plan(given, older)];
      expect(added({ ...before, logItems: [] }, { ...after, logItems: [] })).toEqual([]);
    });
  });

  test('the same input gives the same bytes', () => {
    holds((given, settings) => {
      const again = structuredClone({ given, settings });
      expect(JSON.stringify(decide(again.given, again.settings))).toBe(
        JSON.stringify(decide(given, settings)),
      );
    });
  });

  test('[P3] nothing goes on an inventory that is not complete', () => {
    fc.assert(
      fc.property(
        arbitraryContainerPolicy,
        fc.constantFrom(incompleteInventory, tooLargeInventory),
        (settings, given) => {
          expect(decide(given, settings).items).toEqual([]);
        },
      ),
      runs(1_000),
    );
  });

  test('[P7] nothing goes while a reclaim is at its images', () => {
    fc.assert(
      fc.property(arbitraryContainerNode, arbitraryContainerPolicy, (base, settings) => {
        const given = { ...base, reclaim: reclaim() };
        expect(decide(given, settings)).toMatchObject({ items: [], goesOnAt: null });
      }),
      MANY,
    );
  });

  test('[C5] listing an object twice never makes another one go', () => {
    const withTwice = fc.tuple(node, fc.nat(15), fc.nat(7));
    fc.assert(
      fc.property(withTwice, arbitraryContainerPolicy, ([given, container, sandbox], settings) => {
        const twice = {
          ...given,
          containers: [...given.containers, ...given.containers.slice(container, container + 1)],
          sandboxes: [...given.sandboxes, ...given.sandboxes.slice(sandbox, sandbox + 1)],
        };
        const before = new Set(plan(given, settings).items.map(({ id }) => id));
        const after = plan(twice, settings).items.filter(({ id }) => !before.has(id));
        expect(after).toEqual([]);
      }),
      MANY,
    );
  });
});

/** A8 and G2: by whose word, and for what, a pod's containers may go. */
const mayGo = (
  { state, contentRemovable, runtimeRemovable }: InventoryPod,
  { reclaim: order }: CompleteInventory,
  { profile }: Policy,
): boolean => {
  if (order?.cause.signal === 'nodefs.available' && state !== 'unknown' && runtimeRemovable) return true;
  return contentRemovable && (profile === 'kubelet' ? state !== 'unknown' : state === 'gone');
};

type Planned = Pick<ReturnType<typeof plan>, 'items' | 'logItems'>;
const idsOf = ({ items, logItems }: Planned): string[] => [...items, ...logItems].map(({ id }) => id);
const added = (before: Planned, after: Planned): string[] => {
  const known = idsOf(before);
  return idsOf(after).filter((id) => !known.includes(id));
};

const withoutLinks = (ids: readonly string[]) => ids.filter((id) => !id.endsWith('.log'));

describe.each(['fleetgc', 'kubelet'] as const)('profile %s', (profile) => {
  /** Without what the specification does not speak of: backoff, log paths, deaths. */
  const plain = arbitraryContainerNode.map((given) => ({
    ...given,
    containers: given.containers.map((one) => ({ ...one, backoff: null, logPath: null })),
    sandboxes: given.sandboxes.map((one) => ({ ...one, backoff: null })),
    logSymlinks: given.logSymlinks && distinct(given.logSymlinks.map((one) => ({ ...one, backoff: null }))),
  }));

  test('[G1, G3, G5, G6, G7, G8, G9, G10, G12, G13, H1, H2, H3, H5, I3, I6] agrees with the rules written down word for word', () => {
    fc.assert(
      fc.property(plain, arbitraryContainerPolicy, (given, settings) => {
        const { containers, sandboxes, logItems } = plan(given, {
          ...settings,
          ...ofProfile(profile, settings),
        });
        const reference = referencePass(given, { ...settings, ...ofProfile(profile, settings) });
        expect({ containers, sandboxes, logs: logItems.map(({ id }) => id) }).toEqual(reference);
      }),
      runs(5_000),
    );
  });
});

const ofProfile = (profile: Policy['profile'], { maximumDeadContainerAgeMs }: Policy) => ({
  profile,
  maximumDeadContainerAgeMs: profile === 'kubelet' ? null : maximumDeadContainerAgeMs,
});
const distinct = <T extends { readonly name: string }>(entries: readonly T[]): T[] => [
  ...new Map(entries.map((entry) => [entry.name, entry])).values(),
];
