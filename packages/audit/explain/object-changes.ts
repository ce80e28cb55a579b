import type { EntryOf, ExplainedUser, SeenHow } from '../../../schemas/reports/timeline.ts';
import type { SeenObject, Traits } from '../../archive/inventory-objects.ts';
import { objectKey } from '../events/identity.ts';
import type { Moment, Timeline } from './timeline.ts';

interface Known {
  readonly timeline: Timeline;
  /** The last look that showed it; `null` before the first. */
  readonly seen: SeenObject | null;
}

/** That it is there, for the first time or again, or looks otherwise than before. */
export function noteListing(
  { timeline, seen }: Known,
  { object, traits, details }: SeenObject,
  { how, ...at }: Moment & { readonly how: SeenHow },
): void {
  if (seen === null) {
    timeline.note({ what: 'seen', ...at, object, how, traits: { ...details, ...traits } });
    return;
  }
  noteChange(timeline, { ...at, object, from: seen.traits, to: traits });
}

/** Of what could have changed only what did; nothing where nothing did. */
export function noteChange(
  timeline: Timeline,
  { from, to, ...rest }: Omit<EntryOf<'changed'>, 'what'>,
): void {
  const changed = Object.keys(to).filter((name) => to[name] !== from[name]);
  if (changed.length === 0) return;
  const pick = (all: Traits): Traits => Object.fromEntries(changed.map((name) => [name, all[name] ?? null]));
  timeline.note({ what: 'changed', ...rest, from: pick(from), to: pick(to) });
}

/** Whoever begins or ceases to use it. */
export function noteUse({ timeline, seen }: Known, { object, use }: SeenObject, at: Moment): void {
  if (use === null) return;
  const before = seen?.use?.users ?? [];
  const begun = without(use.users, before);
  const ended = without(before, use.users);
  if (begun.length === 0 && ended.length === 0) return;
  const entry: EntryOf<'used'> = {
    what: 'used',
    ...at,
    object,
    users: [...use.users],
    begun,
    ended,
    lastUsedMs: use.lastUsedMs,
  };
  timeline.note(entry);
}

function without(objects: readonly ExplainedUser[], others: readonly ExplainedUser[]): ExplainedUser[] {
  const known = new Set(others.map(objectKey));
  return objects.filter((object) => !known.has(objectKey(object)));
}
