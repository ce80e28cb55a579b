import { z } from 'zod';
import { brokenTexts } from '../../schemas/events/broken-texts.ts';
import {
  NodeSelector,
  type PauseRecord,
  type PolicyRecord,
  type PolicySet,
  selectorOfPauseKey,
} from '../../schemas/policy/policy.ts';
import { contentHash, deriveId } from '../canonical/ids.ts';
import { policySet } from '../decision/policy-set.ts';
import type { LogRecord } from '../event-log/port.ts';
import { authenticate, maySpeak } from '../pipeline/parse/authenticate.ts';
import { parseAnyJson, parseRecord } from '../pipeline/parse/parse-record.ts';
import { firstWrong } from '../pipeline/parse/schema-issues.ts';

/** What stands under one key of `gc.policies`. */
export type PolicyEntry =
  | { readonly kind: 'policy'; readonly record: PolicyRecord }
  | { readonly kind: 'pause'; readonly record: PauseRecord }
  | UnreadableEntry;

/** A record that cannot be understood. */
export interface UnreadableEntry {
  readonly kind: 'unreadable';
  readonly problem: string;
  /** What it amounts to: a pause of the nodes that it may be meant for; `null` where that may be any node. */
  readonly hold: PauseRecord | null;
}

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
      const entry = policyEntryOf(record);
      seen.add(key);
      if (entry === null) entries.delete(key);
      else entries.set(key, entry);
      return 'added';
    },
  };
}

/** The policies and pauses among them. Where a record cannot be read, its nodes are paused. */
export function setOfEntries(entries: Iterable<PolicyEntry>): PolicySet {
  const all = [...entries];
  return policySet(
    all.flatMap((entry) => (entry.kind === 'policy' ? [entry.record] : [])),
    all.flatMap((entry) => pauseOf(entry) ?? []),
  );
}

function pauseOf(entry: PolicyEntry): PauseRecord | null {
  if (entry.kind === 'unreadable') return entry.hold;
  return entry.kind === 'pause' ? entry.record : null;
}

/** `null` when the record deletes its key. */
export function policyEntryOf(record: LogRecord): PolicyEntry | null {
  if (record.value === null && mayDelete(record)) return null;
  const parsed = parseRecord('policies', record);
  if (!parsed.ok) return unreadable(record, parsed.rejection.message, selectorOf(record));
  if (parsed.event.type === 'fleetgc.pause') return { kind: 'pause', record: parsed.event };
  if (parsed.event.hash === contentHash(parsed.event.policy)) return { kind: 'policy', record: parsed.event };
  // Its selector is no more to be believed than the rest.
  return unreadable(record, 'its hash does not match its content', null);
}

const mayDelete = ({ value, headers, key }: LogRecord): boolean =>
  key !== null && maySpeak(authenticate(value, headers), 'policies', key);

function unreadable(record: LogRecord, why: string, selector: NodeSelector | null): UnreadableEntry {
  const { key, partition, offset } = record;
  const place = `key ${JSON.stringify(key)}, partition ${partition}, offset ${offset}`;
  const problem = `gc.policies holds a record that cannot be read (${place}): ${why}`;
  return { kind: 'unreadable', problem, hold: selector && holdOf(selector, problem) };
}

const holdOf = (selector: NodeSelector, problem: string): PauseRecord => ({
  type: 'fleetgc.pause',
  version: 1,
  id: deriveId('unreadable', problem),
  selector,
  reason: problem,
});

/** As much of a policy of this version as says which nodes it is for. */
const Selecting = z.looseObject({
  type: z.literal('fleetgc.policy'),
  version: z.literal(1),
  policy: z.looseObject({ name: z.string(), selector: NodeSelector }),
});

/** Which nodes the record may be meant for: the key of a pause says it, and of a policy what can be read. `null`: any. */
function selectorOf({ topic, key, value }: LogRecord): NodeSelector | null {
  if (key === null) return null;
  const ofPause = selectorOfPauseKey(key);
  if (ofPause !== null) return whole(ofPause);
  const json = parseAnyJson(topic, value);
  if (!json.ok || firstWrong(Selecting, json.event) !== null) return null;
  const { data } = Selecting.safeParse(json.event);
  return data?.policy.name === key ? whole(data.policy.selector) : null;
}

/** A set of policies has no hash with half a character in it. */
const whole = (selector: NodeSelector): NodeSelector | null =>
  brokenTexts(selector).length === 0 ? selector : null;
