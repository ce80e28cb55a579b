import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { LogRecord } from '../../../packages/event-log/port.ts';
import { type Place, placeOf } from './findings.ts';

/** Repetitions come soon after the original; so many ids are remembered. */
const MOST = 50_000;

/** Whether a record was there before: any message may lie on the log twice, but only as it was. */
export type Sighting =
  | { readonly kind: 'first' }
  | { readonly kind: 'same' }
  | { readonly kind: 'other'; readonly before: Place };

interface Seen {
  readonly fingerprint: string;
  readonly place: Place;
}

/** `content` is what must not change between two records of one id; the whole value unless something else is said. */
export function createSeen(most: number = MOST) {
  const seen = new Map<string, Seen>();
  return (id: string, record: LogRecord, content: string | Buffer = record.value ?? ''): Sighting => {
    const fingerprint = sha256Hex(content);
    const before = seen.get(id);
    if (before !== undefined)
      return before.fingerprint === fingerprint ? { kind: 'same' } : { kind: 'other', before: before.place };
    seen.set(id, { fingerprint, place: placeOf(record) });
    forgetOldest(seen, most);
    return { kind: 'first' };
  };
}

function forgetOldest(seen: Map<string, Seen>, most: number): void {
  if (seen.size <= most) return;
  const [oldest] = seen.keys();
  if (oldest !== undefined) seen.delete(oldest);
}
