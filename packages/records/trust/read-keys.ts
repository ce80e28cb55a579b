import { TOPICS } from '../../../schemas/events/topics.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import type { EventLog } from '../../log/port.ts';
import { KeyRing } from './key-ring.ts';

/** A record of `gc.keys` that no root of this fleet made. It changes nothing. */
export interface UnreadableStatement {
  readonly offset: string;
  readonly key: string | null;
  readonly why: string;
}

/** What lies on `gc.keys` now. */
export interface StoredKeys {
  readonly ring: KeyRing;
  readonly unreadable: readonly UnreadableStatement[];
  /** Whether the topic has all of its records from its first offset on, so that no earlier statement is missing. */
  readonly isWhole: boolean;
}

/** Whoever may write there can write any number of them, and with any keys. */
const MOST_TOLD = 1_000;
const MOST_KEY_CHARACTERS = 200;

/** Reads the topic to its end. */
export async function readKeys(
  log: Pick<EventLog, 'read'>,
  roots: TrustRoots,
  signal: AbortSignal,
): Promise<StoredKeys> {
  const ring = new KeyRing(roots);
  const unreadable: UnreadableStatement[] = [];
  let next = 0n;
  let isWhole = true;
  const request = { topic: TOPICS.keys.name, from: 'earliest', to: 'end' } as const;
  for await (const event of log.read(request, signal)) {
    if (event.kind !== 'record') continue;
    const { offset, key } = event.record;
    isWhole &&= offset === next;
    next = offset + 1n;
    const added = ring.add(event.record);
    if (added.kind === 'refused' && unreadable.length < MOST_TOLD)
      unreadable.push({ offset: String(offset), key: key && shortened(key), why: added.why });
  }
  return { ring, unreadable, isWhole };
}

const shortened = (key: string): string =>
  key.length <= MOST_KEY_CHARACTERS ? key : `${key.slice(0, MOST_KEY_CHARACTERS)}…`.toWellFormed();
