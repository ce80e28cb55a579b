import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/container-gc/decide.ts';
import type {
  CompleteInventory,
  InventoryContainer,
  InventoryPod,
} from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { runs } from '../../../support/property-runs.ts';
import { arbitraryContainerNode, arbitraryContainerPolicy } from './arbitrary.ts';

const removedBy = (given: CompleteInventory, settings: Policy): string[] =>
  decide(given, settings).items.map(({ id }) => id);

/** What of a pod may be unknown: all of it, or which init containers it has. */
const lessOfPods: Readonly<Record<string, (pod: InventoryPod) => InventoryPod[]>> = {
  'the pod is not listed': () => [],
  'the pod is unknown': ({ uid }) => [
    { uid, state: 'unknown', contentRemovable: false, runtimeRemovable: false, initContainers: null },
  ],
  'its init containers are not told': (pod) => [{ ...pod, initContainers: null }],
};

/** One fact or some facts of an inventory fewer; `isMeant` says by position of which objects. */
type Forget = (given: CompleteInventory, isMeant: (position: number) => boolean) => CompleteInventory;

const WAYS: Readonly<Record<string, Forget>> = {
  ...Object.fromEntries(
    Object.entries(lessOfPods).map(([name, forget]): [string, Forget] => [
      name,
      (given, isMeant) => ({
        ...given,
        pods: given.pods.flatMap((pod, position) => (isMeant(position) ? forget(pod) : [pod])),
      }),
    ]),
  ),
  'nobody told since when the clock was not set': (given) => ({ ...given, clockSteadySinceMs: null }),
  'not every source of pods has delivered': (given) => ({ ...given, allSourcesReady: false }),
  'labels of dead containers are missing': (given, isMeant) => ({
    ...given,
    containers: given.containers.map((one, position) =>
      isMeant(position) && one.state !== 'running' ? { ...one, pod: null } : one,
    ),
  }),
  'labels of sandboxes are missing': (given, isMeant) => ({
    ...given,
    sandboxes: given.sandboxes.map((one, position) => (isMeant(position) ? { ...one, pod: null } : one)),
  }),
  'the pod logs could not be read': (given) => ({ ...given, podLogDirectories: null }),
  'the container logs could not be read': (given) => ({ ...given, logSymlinks: null }),
};

const FORGETTING = fc.record({
  way: fc.constantFrom(...Object.keys(WAYS)),
  seed: fc.nat(0xffff),
});

test('[A8, K1, M28] knowing less never makes another object go, apart from the limit of the node', () => {
  fc.assert(
    fc.property(
      arbitraryContainerNode,
      arbitraryContainerPolicy,
      FORGETTING,
      (given, base, { way, seed }) => {
        const settings: Policy = { ...base, profile: 'fleetgc', maximumDeadContainers: -1 };
        const before = new Set(removedBy(given, settings));
        const forgotten = WAYS[way]?.(given, (position) => ((seed >> position) & 1) === 1) ?? given;
        // The link of a container goes with it, and on its own where the container stays.
        const added = removedBy(forgotten, settings).filter((id) => !before.has(id) && !id.endsWith('.log'));
        const spared = unitsWithOneMore(given, settings);
        expect(
          added.filter((id) => !spared.has(unitById(given, id))),
          way,
        ).toEqual([]);
      },
    ),
    runs(3_000),
  );
});

test('[M28] the newest finished container of a unit goes only where it is known to be nothing that runs again', () => {
  fc.assert(
    fc.property(arbitraryContainerNode, arbitraryContainerPolicy, (given, base) => {
      const gone = removedBy(given, { ...base, profile: 'fleetgc' });
      const finished = given.containers.filter(({ state, pod }) => state === 'exited' && pod !== null);
      const emptied = [...Map.groupBy(finished, unitOf).values()].filter((members) =>
        members.every(({ id }) => gone.includes(id)),
      );
      expect(emptied.flat().filter((one) => !isKnownToBeDone(one, given))).toEqual([]);
    }),
    runs(2_000),
  );
});

const unitById = (given: CompleteInventory, id: string): string => {
  const container = given.containers.find((one) => one.id === id);
  return container === undefined ? '' : unitOf(container);
};

/**
 * Where M28 keeps the last one of a unit after its age had counted it as gone (M27), the unit has one more than its limit. Without
 * ages the limit alone counts (G7), and an older one of the unit goes.
 */
const unitsWithOneMore = (given: CompleteInventory, settings: Policy): ReadonlySet<string> =>
  new Set(
    decide(given, settings).verdicts.flatMap((verdict) => {
      const container = verdict.kind === 'container' && given.containers[verdict.position];
      const isSpared = verdict.rule === 'M28' && verdict.facts.selectedBy === 'M27';
      return container && isSpared ? [unitOf(container)] : [];
    }),
  );

const unitOf = ({ pod, name }: InventoryContainer): string => JSON.stringify([pod?.uid, name]);

function isKnownToBeDone(
  { pod: reference, name }: InventoryContainer,
  { pods, allSourcesReady }: CompleteInventory,
): boolean {
  const pod = pods.find(({ uid }) => uid === reference?.uid);
  if (pod === undefined || pod.state === 'unknown') return false;
  if (allSourcesReady && (pod.state === 'gone' || pod.runtimeRemovable)) return true;
  return pod.state === 'known' && pod.initContainers !== null && !pod.initContainers.includes(name);
}
