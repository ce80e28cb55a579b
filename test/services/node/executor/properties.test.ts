import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CompleteListing } from '../../../../packages/cri/listing-types.ts';
import { imageUsage } from '../../../../packages/cri/usage.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { completeListing, digestOf, imageSpec, runtimeImage } from '../../../fixtures/listing.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { runs } from '../../../support/property-runs.ts';
import {
  addContainer,
  addImages,
  addSandbox,
  type ExecutorNode,
  executorNode,
  POD_LABELS,
} from './support/executor-node.ts';

const IMAGES = ['a', 'b', 'c', 'd', 'e'];
const CONTAINERS = ['k1', 'k2', 'k3', 'k4'];
const SANDBOXES = ['sandbox-1', 'sandbox-2'];
const STATES = ['created', 'running', 'exited', 'unknown'] as const;

/** Something that happens on the node while a command is carried out. */
const change = fc.oneof(
  fc.record({
    kind: fc.constant('use' as const),
    image: fc.constantFrom(...IMAGES),
    id: fc.constantFrom(...CONTAINERS),
  }),
  fc.record({ kind: fc.constant('pin' as const), image: fc.constantFrom(...IMAGES) }),
  fc.record({ kind: fc.constant('start' as const), id: fc.constantFrom(...CONTAINERS) }),
  fc.record({ kind: fc.constant('ready' as const), id: fc.constantFrom(...SANDBOXES) }),
  fc.record({ kind: fc.constant('pull' as const), image: fc.constantFrom(...IMAGES, 'new') }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

const scene = fc.record({
  pinned: fc.subarray(IMAGES),
  containers: fc.array(
    fc.record({
      state: fc.constantFrom(...STATES),
      image: fc.constantFrom(...IMAGES, 'elsewhere'),
      sandbox: fc.constantFrom(...SANDBOXES, 'elsewhere'),
      isOurs: fc.boolean(),
    }),
    { maxLength: CONTAINERS.length },
  ),
  ready: fc.subarray(SANDBOXES),
  named: fc.record({
    images: fc.subarray(IMAGES, { minLength: 1 }),
    others: fc.subarray([...CONTAINERS, ...SANDBOXES], { minLength: 1 }),
  }),
  target: fc.option(fc.integer({ min: 800, max: 1000 })),
  /** At the n-th call to the runtime. */
  changes: fc.dictionary(fc.nat({ max: 60 }).map(String), change, { maxKeys: 4 }),
});
type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never;

function setUp({ pinned, containers, ready }: Scene): ExecutorNode {
  const node = executorNode();
  addImages(node, IMAGES, 20n);
  for (const name of pinned) pin(node, name);
  for (const id of SANDBOXES) addSandbox(node, id, { state: ready.includes(id) ? 'ready' : 'notReady' });
  for (const [index, { state, image, sandbox, isOurs }] of containers.entries()) {
    addContainer(node, `k${index + 1}`, {
      state: state === 'running' && !ready.includes(sandbox) ? 'exited' : state,
      imageId: digestOf(image),
      sandboxId: sandbox,
      labels: isOurs ? POD_LABELS : {},
    });
  }
  return node;
}

const pin = ({ runtime }: ExecutorNode, name: string): void => {
  if (runtime.images.has(digestOf(name)))
    runtime.images.set(digestOf(name), runtimeImage(name, { pinned: true }));
};

function apply(node: ExecutorNode, what: Change): void {
  const { containers, sandboxes, images } = node.runtime;
  if (what.kind === 'pin') pin(node, what.image);
  else if (what.kind === 'pull') images.set(digestOf(what.image), runtimeImage(what.image));
  else if (what.kind === 'use') use(node, what);
  else becomeActive(what.kind === 'ready' ? sandboxes : containers, what);
}

function use(node: ExecutorNode, { id, image }: { readonly id: string; readonly image: string }): void {
  if (node.runtime.containers.has(id)) return;
  addContainer(node, id, { image: imageSpec({ image: digestOf(image) }), state: 'created' });
}

function becomeActive(
  objects: Map<string, { readonly state: string }>,
  { kind, id }: Change & { id: string },
): void {
  const object = objects.get(id);
  if (object) objects.set(id, { ...object, state: kind === 'ready' ? 'ready' : 'running' });
}

const commandsOf = ({ named, target }: Scene): Command[] => {
  const of =
    target === null
      ? null
      : reclaim({ target: { filesystem: 'imagefs', resource: 'availableBytes', atLeast: String(target) } });
  return [
    containerRemoval(named.others, { id: 'c', reclaim: of && { ...of, step: 'containers' } }),
    imageRemoval(named.images.map(digestOf), { id: 'i', reclaim: of }),
  ];
};

/** What the lists of the last look said, each at its own moment, before each removing call. */
function watch(node: ExecutorNode, changes: Scene['changes']) {
  const removals: { readonly call: string; readonly listing: CompleteListing }[] = [];
  let calls = 0;
  let seen = completeListing();
  let last: CompleteListing | null = null;
  node.runtime.before = (call) => {
    if (/^remove/.test(call)) {
      if (last) removals.push({ call, listing: last });
    }
    const happening = changes[String(calls++)];
    if (happening) apply(node, happening);
  };
  node.runtime.after = (call) => {
    const { images, containers, sandboxes } = node.runtime;
    if (call === 'listImages') seen = { ...seen, images: [...images.values()] };
    if (call === 'listSandboxes') seen = { ...seen, sandboxes: [...sandboxes.values()] };
    if (call !== 'listContainers') return;
    seen = { ...seen, containers: [...containers.values()] };
    last = seen;
  };
  return removals;
}

test('[K2, K8, H3, M6] nothing goes that the command does not name or the last listing shows as needed', async () => {
  await fc.assert(
    fc.asyncProperty(scene, async (given) => {
      const node = setUp(given);
      const removals = watch(node, given.changes);
      const executor = node.start();
      const commands = commandsOf(given);
      for (const command of commands) await executor.carryOut(command);
      await executor.stop();
      const named = new Set(commands.flatMap(({ items }) => items.map(({ kind, id }) => `${kind} ${id}`)));
      for (const { call, listing } of removals) expectAllowed(call, listing, named);
    }),
    runs(60),
  );
});

function expectAllowed(call: string, listing: CompleteListing, named: ReadonlySet<string>): void {
  const [method = '', id = ''] = call.split(' ');
  const kind = { removeImage: 'image', removeContainer: 'container', removeSandbox: 'sandbox' }[method];
  expect(named).toContain(`${kind} ${id}`);
  if (kind === 'image') {
    expect(imageUsage(listing, []).users.get(id)).toEqual([]);
    expect(listing.images.find((image) => image.id === id)).toMatchObject({ pinned: false });
  } else if (kind === 'container') {
    expect(listing.containers.find((container) => container.id === id)).toMatchObject({ labels: POD_LABELS });
    expect(listing.containers.find((container) => container.id === id)?.state).not.toBe('running');
  } else {
    expect(listing.sandboxes.find((sandbox) => sandbox.id === id)).toMatchObject({ state: 'notReady' });
    expect(listing.containers.filter(({ sandboxId }) => sandboxId === id)).toEqual([]);
  }
}

test('[M6] every command ends, with one result for each of its objects, whatever the runtime does', async () => {
  const fault = fc.constantFrom('RUNTIME_FAILED', 'RUNTIME_TIMEOUT', 'RUNTIME_NOT_FOUND', 'RUNTIME_MISSING');
  await fc.assert(
    fc.asyncProperty(
      scene,
      fc.array(fc.option(fault, { freq: 2 }), { maxLength: 60 }),
      async (given, faults) => {
        const node = setUp(given);
        let calls = 0;
        node.runtime.before = (call) => {
          const code = call === 'statfs' ? null : faults[calls++];
          if (code) throw new FleetGcError(code, 'as the test says');
        };
        const executor = node.start();
        for (const command of commandsOf(given)) {
          await executor.carryOut(command);
          expect(Object.keys(node.outcomes(command.id)).toSorted()).toEqual(
            command.items.map(({ id }) => id).toSorted(),
          );
        }
        await executor.stop();
      },
    ),
    runs(60),
  );
});
