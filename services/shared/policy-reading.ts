import type { PauseRecord, PolicyRecord } from '../../schemas/policy.ts';
import { authenticate, maySpeak } from './authenticate.ts';
import type { LogRecord } from './event-log/port.ts';
import { contentHash } from './ids.ts';
import { parseRecord } from './parse-record.ts';

/** What stands under one key of `gc.policies`. */
export type PolicyEntry =
  | { readonly kind: 'policy'; readonly record: PolicyRecord }
  | { readonly kind: 'pause'; readonly record: PauseRecord }
  /** A record that cannot be understood: it might be meant for any node. */
  | { readonly kind: 'unreadable'; readonly problem: string };

/** What one pass over `gc.policies` has shown so far: the last record of every key. */
export interface PolicyReading {
  readonly entries: ReadonlyMap<string, PolicyEntry>;
  /** Whether a record of this key was seen, also one that deletes it. */
  hasSeen(key: string): boolean;
  /** `rewound` when the offset is not after the last one: then this is another topic than before. */
  add(record: LogRecord): 'added' | 'rewound';
}

export function createPolicyReading(): PolicyReading {
  const entries = new Map<string, PolicyEntry>();
  const seen = new Set<string>();
  let lastOffset = -1n;
  return {
    entries,
    hasSeen: (key) => seen.has(key),
    add: (record) => {
      if (record.offset <= lastOffset) return 'rewound';
      lastOffset = record.offset;
      const key = record.key ?? '';
      const entry = entryOf(record);
      seen.add(key);
      if (entry === null) entries.delete(key);
      else entries.set(key, entry);
      return 'added';
    },
  };
}

/** `null` when the record deletes its key. */
function entryOf(record: LogRecord): PolicyEntry | null {
  if (record.value === null && mayDelete(record)) return null;
  const parsed = parseRecord('policies', record);
  if (!parsed.ok) return unreadable(record, parsed.rejection.message);
  if (parsed.event.type === 'fleetgc.pause') return { kind: 'pause', record: parsed.event };
  if (parsed.event.hash === contentHash(parsed.event.policy)) return { kind: 'policy', record: parsed.event };
  return unreadable(record, 'its hash does not match its content');
}

const mayDelete = ({ value, headers, key }: LogRecord): boolean =>
  key !== null && maySpeak(authenticate(value, headers), 'policies', key);

const unreadable = ({ key, offset }: LogRecord, why: string): PolicyEntry => ({
  kind: 'unreadable',
  problem: `gc.policies holds a record that cannot be read (key ${JSON.stringify(key)}, offset ${offset}): ${why}`,
});
