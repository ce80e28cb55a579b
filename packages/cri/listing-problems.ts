import type { ListingProblem, RuntimeLists } from './listing-types.ts';

/** What of the lists cannot be true, so that nothing may be concluded from any of them. */
export function unbelievable(lists: RuntimeLists): ListingProblem[] {
  return [...duplicates(lists), ...outOfRange(lists), ...orphans(lists)];
}

function duplicates(lists: RuntimeLists): ListingProblem[] {
  return Object.entries(lists).flatMap(([kind, objects]: [string, readonly { readonly id: string }[]]) =>
    repeated(objects.map(({ id }) => id)).map(
      (id): ListingProblem => ({
        code: 'duplicate-ids',
        message: `The runtime lists the id ${id} twice among its ${kind}.`,
      }),
    ),
  );
}

function repeated(ids: readonly string[]): string[] {
  const seen = new Set<string>();
  const twice = ids.filter((id) => seen.size === seen.add(id).size);
  return [...new Set(twice)];
}

function outOfRange({ images, sandboxes, containers }: RuntimeLists): ListingProblem[] {
  const sizes = images
    .filter(({ sizeBytes }) => sizeBytes < 0n || sizeBytes > BigInt(Number.MAX_SAFE_INTEGER))
    .map(({ id, sizeBytes }) => `The runtime says that image ${id} has ${sizeBytes} bytes.`);
  const times = [...sandboxes, ...containers]
    .filter(({ createdAtNs }) => createdAtNs < 0n)
    .map(({ id, createdAtNs }) => `The runtime says that ${id} was created at ${createdAtNs} ns since 1970.`);
  return [...sizes, ...times].map((message) => ({ code: 'value-out-of-range', message }));
}

/** A container cannot run outside its sandbox: where one seems to, sandboxes are missing from the list. */
function orphans({ sandboxes, containers }: RuntimeLists): ListingProblem[] {
  const listed = new Set(sandboxes.map(({ id }) => id));
  return containers
    .filter(({ state, sandboxId }) => state === 'running' && !listed.has(sandboxId))
    .map(({ id, sandboxId }) => ({
      code: 'runtime-partial',
      message: `The runtime lists the running container ${id} but not its sandbox ${sandboxId}.`,
    }));
}
