/**
 * The kubelet's image GC once more (sections C to F of the specification), as one would write it down in a loop over mutable
 * lists. It shares nothing with the service that it is compared with.
 */
export interface ReferenceNode {
  readonly images: readonly {
    readonly id: string;
    readonly size: number;
    readonly pinned: boolean;
    readonly firstDetected: number;
    /** 0 is the zero time. */
    readonly lastUsed: number;
  }[];
  /** The image ids that containers name, whatever their state. */
  readonly containerImages: readonly string[];
  readonly now: number;
  readonly beganGc: number;
  readonly capacity: number;
  readonly available: number;
}

export interface ReferenceOptions {
  readonly high: number;
  readonly low: number;
  readonly minAge: number;
  readonly maxAge: number;
}

/** One periodic pass (D3): the ids removed by age, then those removed by usage, each in order. */
export function referencePass(
  node: ReferenceNode,
  options: ReferenceOptions,
): { age: string[]; usage: string[] } {
  // D1
  if (options.high === 100 && options.maxAge === 0) return { age: [], usage: [] };
  const candidates = candidatesOf(node);
  const age = removedByAge(candidates, node, options);
  const left = candidates.filter(({ id }) => !age.includes(id));
  return { age, usage: removedByUsage(left, node, options) };
}

function removedByAge(
  candidates: ReferenceNode['images'],
  { now, beganGc }: ReferenceNode,
  { maxAge }: ReferenceOptions,
): string[] {
  const removed: string[] = [];
  // E1, E2
  if (maxAge === 0 || now - beganGc <= maxAge) return removed;
  // E3
  for (const image of candidates) if (now - image.lastUsed > maxAge) removed.push(image.id);
  return removed;
}

function removedByUsage(
  candidates: ReferenceNode['images'],
  node: ReferenceNode,
  options: ReferenceOptions,
): string[] {
  const { capacity } = node;
  let { available } = node;
  // D4, D5
  if (available > capacity) available = capacity;
  if (capacity === 0) return [];
  // D6
  if (100 - Math.floor((available * 100) / capacity) < options.high) return [];
  const target = Math.floor((capacity * (100 - options.low)) / 100) - available;
  return free(candidates, node, options, target);
}

/** F1: the same loop with a target that nothing reaches. */
export function referenceForced(node: ReferenceNode, options: ReferenceOptions): string[] {
  return free(candidatesOf(node), node, options, Number.POSITIVE_INFINITY);
}

/** D7, D8, with the larger first and then the id where the kubelet has no order. */
function candidatesOf(node: ReferenceNode) {
  const found = [];
  for (const image of node.images) {
    let inUse = false;
    for (const name of node.containerImages) if (name === image.id) inUse = true;
    if (!inUse && !image.pinned) found.push(image);
  }
  found.sort((a, b) => {
    if (a.lastUsed !== b.lastUsed) return a.lastUsed - b.lastUsed;
    if (a.firstDetected !== b.firstDetected) return a.firstDetected - b.firstDetected;
    if (a.size !== b.size) return b.size - a.size;
    return a.id < b.id ? -1 : 1;
  });
  return found;
}

function free(
  candidates: ReferenceNode['images'],
  { now }: ReferenceNode,
  { minAge }: ReferenceOptions,
  target: number,
): string[] {
  const removed: string[] = [];
  let freed = 0;
  for (const image of candidates) {
    // D9
    if (image.lastUsed >= now) continue;
    // D10
    if (now - image.firstDetected < minAge) continue;
    // D11 to D13
    removed.push(image.id);
    freed += image.size;
    if (freed >= target) break;
  }
  return removed;
}
