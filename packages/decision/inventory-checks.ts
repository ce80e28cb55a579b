import { z } from 'zod';
import { MAX_OBJECT_ID_BYTES, MAX_OBJECT_ID_LENGTH } from '../../schemas/events/command.ts';
import {
  type CompleteInventory,
  Inventory,
  InventoryHead,
  type InventoryImage,
} from '../../schemas/events/inventory.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import { MAX_BACKOFF_MS } from '../../schemas/state/removal-backoff.ts';
import type { Doubt, Kept } from './conclusion.ts';
import type { Readable } from './freezable-decider.ts';

/** What an inventory that is not complete says about itself; nothing is removed on it. */
export function statusDoubts(inventory: Exclude<Inventory, CompleteInventory>): Doubt[] {
  if (inventory.status === 'incomplete')
    return inventory.problems.map(({ code, message }) => ({ rule: 'P3', message: `${code}: ${message}` }));
  const { images, containers, sandboxes, bytes } = inventory.counts;
  const message = `too large to publish: ${images} images, ${containers} containers, ${sandboxes} sandboxes, ${bytes} bytes`;
  return [{ rule: 'P3', message }];
}

const NONE: ReadonlySet<string> = new Set();

/**
 * A number made of the end of a text, where ids and names differ. Texts whose ends differ are not equal, and that is found
 * out in a fraction of the time that it takes to hash 64 digits, which every set and map of texts does.
 */
export function endOf(text: string): number {
  let end = 0;
  for (let at = Math.max(0, text.length - END_LENGTH); at < text.length; at += 1)
    end = (end * 31 + text.charCodeAt(at)) | 0;
  return end;
}

const END_LENGTH = 8;

/** Keys that occur more than once: which of the entries is true is not known, so all of them stay (C5). */
export function listedTwice(keys: readonly string[]): ReadonlySet<string> {
  if (haveDifferentEnds(keys)) return NONE;
  const seen = new Set(keys);
  if (seen.size === keys.length) return NONE;
  seen.clear();
  const twice = new Set<string>();
  for (const key of keys) (seen.has(key) ? twice : seen).add(key);
  return twice;
}

/** Whether a key is among those that `listedTwice` gave. To look for a text hashes it, also in a set that is empty. */
export const isAmong = (twice: ReadonlySet<string>, key: string): boolean => twice.size > 0 && twice.has(key);

/** Sorting numbers beside each other takes half as long as a set of them. */
function haveDifferentEnds(keys: readonly string[]): boolean {
  const ends = new Int32Array(keys.length);
  for (const [at, key] of keys.entries()) ends[at] = endOf(key);
  ends.sort();
  return ends.every((end, at) => end !== ends[at - 1]);
}

/** One sentence for any number of objects, so that a record stays readable; none for no objects. */
export function doubtAbout<Rule extends string>(
  rule: Rule,
  ids: readonly string[],
  message: string,
): (Doubt & { readonly rule: Rule })[] {
  const [first] = ids.toSorted(compareText);
  return first === undefined ? [] : [{ rule, message: `${ids.length} ${message}; first by name: ${first}` }];
}

/**
 * Objects that lately failed to go are left out, so that they cost no other object its place (M17, M33). A time that
 * no backoff reaches was written before the clock was set back, and would keep the object for years.
 */
export function backingOff(backoff: InventoryImage['backoff'], nowMs: number): Kept | undefined {
  if (backoff === null || backoff.untilMs <= nowMs || backoff.untilMs > nowMs + MAX_BACKOFF_MS)
    return undefined;
  return { rule: 'M33', facts: { failures: backoff.failures, untilMs: backoff.untilMs } };
}

/** No runtime and no kubelet writes such an id or name, and no node takes a command that holds it (P8). */
export function tooLongForCommand(id: string): Kept | undefined {
  const idBytes = Buffer.byteLength(JSON.stringify(id));
  const isTooLong = id.length > MAX_OBJECT_ID_LENGTH || idBytes > MAX_OBJECT_ID_BYTES;
  return isTooLong ? { rule: 'P8', facts: { idBytes, idLength: id.length } } : undefined;
}

/** What deciders on inventories read. */
export const READABLE_INVENTORY: Readable<Inventory> = {
  schema: Inventory,
  older: InventoryHead,
  newer: InventoryHead.extend({ status: z.enum(['complete', 'incomplete', 'too-large']) }),
};

/**
 * Whether a runtime is that of K3s or RKE2, by the version that it tells: `v2.1.5-k3s1`, `2.0.5+rke2r1`. These import the
 * archives in their directory `agent/images`, and give what they import all that a pull leaves (M12).
 */
export const importsLikePulls = (version: string): boolean => /[-+.](k3s|rke2)/i.test(version);
