import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/container-gc/decide.ts';
import { type CompleteInventory, InventoryPod } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { container, gonePod, inventory, pod } from '../../../fixtures/inventory.ts';
import { policy } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { HOUR, nsAgo } from '../../../fixtures/time.ts';
import { ofKind } from '../../../fixtures/verdicts.ts';

const exited = (id: string, hoursAgo: number) =>
  container(id, {
    name: 'prepare',
    createdAtNs: nsAgo(hoursAgo * HOUR),
    finishedAtNs: nsAgo(hoursAgo * HOUR, 1n),
  });
const containers = [
  exited('older', 4),
  exited('newest', 3),
  container('main', { state: 'running', createdAtNs: nsAgo(2 * HOUR) }),
];
const POD = 'pod-1';
const unknownPod = pod(POD, { state: 'unknown', initContainers: null });

const gone = (given: Partial<CompleteInventory>, settings: Partial<Policy>): string[] =>
  decide(inventory({ containers, ...given }), policy(settings)).items.map(({ id }) => id);

describe.each<{ limit: string; settings: Partial<Policy> }>([
  { limit: '[M27] a maximum age', settings: { maximumDeadContainerAgeMs: HOUR } },
  { limit: '[G7] a limit of 0 per container', settings: { maximumDeadContainersPerContainer: 0 } },
  { limit: '[G9] a limit of 0 per node', settings: { maximumDeadContainers: 0 } },
])('[M28] under $limit the newest finished container', ({ settings }) => {
  test.each<{ name: string; given: Partial<CompleteInventory>; stays: boolean }>([
    {
      name: 'of an init container stays while its pod may restart',
      given: { pods: [pod(POD, { initContainers: ['prepare'] })] },
      stays: true,
    },
    {
      name: 'goes when its pod is known to have no such init container',
      given: { pods: [pod(POD, { initContainers: ['other'] })] },
      stays: false,
    },
    { name: 'stays while its pod is unknown', given: { pods: [unknownPod] }, stays: true },
    {
      name: 'stays while its pod is unknown, whatever is said of its init containers',
      given: { pods: [{ ...unknownPod, initContainers: [] }] },
      stays: true,
    },
    { name: 'stays while its pod is not listed', given: { pods: [] }, stays: true },
    {
      name: 'stays while its pod is listed twice',
      given: { pods: [pod(POD), pod(POD)] },
      stays: true,
    },
    {
      name: 'stays while nobody told which init containers its pod has',
      given: { pods: [pod(POD, { initContainers: null })] },
      stays: true,
    },
    { name: 'goes with a pod that is gone', given: { pods: [gonePod(POD)] }, stays: false },
    {
      name: 'stays with a pod that is said to be gone before every source has delivered',
      given: { pods: [gonePod(POD)], allSourcesReady: false },
      stays: true,
    },
    {
      name: 'goes when its pod has ended for good',
      given: { pods: [pod(POD, { initContainers: ['prepare'], runtimeRemovable: true })] },
      stays: false,
    },
  ])('$name', ({ given, stays }) => {
    expect(gone(given, settings)).toEqual(stays ? ['older'] : ['older', 'newest']);
  });
});

test('[M28, G2] a forced pass spares the newest finished container of an unknown pod', () => {
  const forced = reclaim({ step: 'containers', cause: { ...reclaim().cause, signal: 'nodefs.available' } });
  expect(gone({ pods: [unknownPod], reclaim: forced }, { maximumDeadContainersPerContainer: 0 })).toEqual([
    'older',
  ]);
});

test('[M28] the record says whether it is known which containers those are', () => {
  const factsOf = (pods: CompleteInventory['pods']) =>
    ofKind(
      decide(inventory({ containers, pods }), policy({ maximumDeadContainers: 0 })).verdicts,
      'container',
    )[1];
  expect(factsOf([unknownPod])).toMatchObject({ rule: 'M28', facts: { initContainersKnown: false } });
  expect(factsOf([pod(POD, { initContainers: null })])).toMatchObject({
    rule: 'M28',
    facts: { lastOfItsUnit: true, initContainersKnown: false },
  });
  expect(factsOf([pod(POD, { initContainers: ['prepare'] })])).toMatchObject({
    rule: 'M28',
    facts: { initContainersKnown: true },
  });
});

test('[M28] an agent that does not tell the init containers of a pod has not said that there are none', () => {
  const { initContainers: _untold, ...told } = pod(POD);
  expect(InventoryPod.parse(told).initContainers).toBeNull();
});
