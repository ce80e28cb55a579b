import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CompleteInventory } from '../../schemas/inventory.ts';
import type { Policy } from '../../schemas/policy.ts';
import { decide } from '../../services/container-gc/decide.ts';
import { arbitraryNode, arbitraryPolicy, shuffled } from '../fixtures/arbitrary-node.ts';
import { incompleteInventory, tooLargeInventory } from '../fixtures/inventory.ts';
import { NOW } from '../fixtures/time.ts';
import { referencePass } from './reference.ts';

const MANY = { numRuns: 1_000 };

/** Outside a reclaim, sometimes right after deaths. */
const node = fc
  .record({ base: arbitraryNode, died: fc.subarray(['container-0', 'container-1', 'container-2']) })
  .map(
    ({ base, died }): CompleteInventory => ({
      ...base,
      reclaim: null,
      trigger: died.length > 0 ? 'container-died' : 'interval',
      diedContainerIds: died,
    }),
  );

const plan = (given: CompleteInventory, settings: Policy) => {
  const { items } = decide(given, settings);
  const idsOf = (kind: string) => items.filter((item) => item.kind === kind).map(({ id }) => id);
  return { items, containers: idsOf('container'), sandboxes: idsOf('sandbox') };
};

const holds = (check: (given: CompleteInventory, settings: Policy) => void): void =>
  fc.assert(fc.property(node, arbitraryPolicy, check), MANY);

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
    holds((given, settings) => {
      const { containers, sandboxes } = plan(given, settings);
      const foreign = [...given.containers, ...given.sandboxes].filter(({ pod }) => pod === null);
      expect(foreign.filter(({ id }) => [...containers, ...sandboxes].includes(id))).toEqual([]);
    });
  });

  test('[M33, G20] nothing in back-off and nothing with a log path that is not trusted ever goes', () => {
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
    holds((given, settings) => {
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

  test('[G6, A8, K1] nothing goes as of a gone pod unless its pod is gone and the sources have delivered', () => {
    holds((given, settings) => {
      const gone = new Set(
        given.pods
          .filter(({ state, contentRemovable }) => state === 'gone' && contentRemovable)
          .map(({ uid }) => uid),
      );
      const taken = plan(given, settings).items.filter(({ rule }) => rule === 'G6');
      if (!given.allSourcesReady) expect(taken).toEqual([]);
      const uids = taken.map(({ id }) => given.containers.find((one) => one.id === id)?.pod?.uid ?? '');
      expect(uids.filter((uid) => !gone.has(uid))).toEqual([]);
    });
  });

  test('[H2, H7] every pod that is not gone keeps its newest sandbox', () => {
    holds((given, settings) => {
      const { sandboxes } = plan({ ...given, pods: [] }, settings);
      const ours = given.sandboxes.filter(({ pod }) => pod !== null);
      for (const ofPod of Map.groupBy(ours, ({ podUid }) => podUid).values())
        expect(ofPod.filter(({ id }) => !sandboxes.includes(id)).length).toBeGreaterThan(0);
    });
  });

  test('[M38] every object has one verdict, and exactly what goes has the verdict to go', () => {
    holds((given, settings) => {
      const { items, verdicts } = decide(given, settings);
      expect(verdicts.containers.map(({ position }) => position)).toEqual([...given.containers.keys()]);
      expect(verdicts.sandboxes.map(({ position }) => position)).toEqual([...given.sandboxes.keys()]);
      const goes = [
        ...verdicts.containers
          .filter(({ action }) => action === 'remove')
          .map((v) => given.containers[v.position]?.id),
        ...verdicts.sandboxes
          .filter(({ action }) => action === 'remove')
          .map((v) => given.sandboxes[v.position]?.id),
      ];
      expect(goes.toSorted()).toEqual(items.map(({ id }) => id).toSorted());
    });
  });

  test('[G13, H5] the order of the listing changes neither what goes nor in which order', () => {
    const withOther = node.chain((given) => fc.tuple(fc.constant(given), shuffled(given)));
    fc.assert(
      fc.property(withOther, arbitraryPolicy, ([given, other], settings) => {
        expect(plan(other, settings).items).toEqual(plan(given, settings).items);
      }),
      MANY,
    );
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
        arbitraryPolicy,
        fc.constantFrom(incompleteInventory, tooLargeInventory),
        (settings, given) => {
          expect(decide(given, settings).items).toEqual([]);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('[P7] nothing goes while a reclaim is at its images', () => {
    fc.assert(
      fc.property(arbitraryNode, arbitraryPolicy, (given, settings) => {
        expect(decide(given, settings)).toMatchObject({ items: [], goesOnAt: null });
      }),
      MANY,
    );
  });

  test('[C5] listing an object twice never makes another one go', () => {
    const withTwice = fc.tuple(node, fc.nat(15), fc.nat(7));
    fc.assert(
      fc.property(withTwice, arbitraryPolicy, ([given, container, sandbox], settings) => {
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

test('[G3, G5, G6, G7, G8, G9, G10, G12, G13, H1, H2, H3, H5] agrees with the rules written down word for word', () => {
  /** Without what the specification does not speak of: back-off, log paths, deaths, times in the future. */
  const plain = arbitraryNode.map((given) => ({
    ...given,
    reclaim: null,
    containers: given.containers.map((one) => ({ ...one, backoff: null, logPath: null })),
    sandboxes: given.sandboxes.map((one) => ({ ...one, backoff: null })).filter((one) => ageNs(one) >= 0n),
  }));
  fc.assert(
    fc.property(plain, arbitraryPolicy, (given, settings) => {
      const { containers, sandboxes } = plan(given, settings);
      expect({ containers, sandboxes }).toEqual(referencePass(given, settings));
    }),
    { numRuns: 5_000 },
  );
});
