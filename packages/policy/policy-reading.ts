import { z } from 'zod';
import { brokenTexts } from '../../schemas/events/broken-texts.ts';
import { claimOf } from '../../schemas/events/claims.ts';
import { SubjectKind } from '../../schemas/events/identity.ts';
import { type ApprovalRecord, isApprovalKey } from '../../schemas/policy/approval.ts';
import { ClusterSelector } from '../../schemas/policy/cluster-policy.ts';
import {
  isPolicyFor,
  keyOfPolicyNamed,
  NodeSelector,
  type PauseRecord,
  POLICY_RECORDS,
  type PolicyRecordOf,
  type PolicySetOf,
  selectorOfPauseKey,
} from '../../schemas/policy/policy.ts';
import { contentHash, deriveId } from '../canonical/ids.ts';
import { policySet } from '../decision/policy-set.ts';
import type { LogRecord } from '../log/port.ts';
import { firstWrong, parseAnyJson, parseRecord } from '../records/parse/parse-record.ts';
import { type SeenGenerations, seenName } from '../records/trust/seen-generations.ts';
import type { Principal, Trust } from '../records/trust/trust.ts';
import { objectionToStating } from './may-state.ts';

/** What stands under one key of `gc.policies`. */
export type PolicyEntry =
  | { readonly kind: 'policy'; readonly record: PolicyRecordOf<SubjectKind> }
  | { readonly kind: 'pause'; readonly record: PauseRecord }
  | { readonly kind: 'approval'; readonly record: ApprovalRecord }
  | UnreadableEntry;

/** What one pass over `gc.policies` has shown so far: the last record of every key. */
export interface PolicyReading {
  readonly entries: ReadonlyMap<string, PolicyEntry>;
  /** The highest of each key that is believed. */
  readonly generations: ReadonlyMap<string, number>;
  /** Whether there are more records that cannot be read than are kept: nobody knows then what all of them are. */
  isOverfull(): boolean;
  /** Whether a record of this key was seen, also one that deletes it. */
  hasSeen(key: string): boolean;
  /** `rewound` when the offset is not after the last one: then this is another topic than before. */
  add(record: LogRecord): 'added' | 'rewound';
}

/** What it shows to whoever believes whom `trust` believes. */
export function createPolicyReading(trust: Trust, before: SeenGenerations): PolicyReading {
  const entries = new Map<string, PolicyEntry>();
  const seen = new Set<string>();
  const generations = new Map<string, number>();
  const unread = createUnreadRoom();
  let lastOffset = -1n;
  return {
    entries,
    generations,
    isOverfull: unread.isOverfull,
    hasSeen: (key) => seen.has(seenName(key)),
    add: (record) => {
      if (record.offset <= lastOffset) return 'rewound';
      lastOffset = record.offset;
      const key = record.key ?? '';
      const entry = believedEntryOf(record, trust, { before, generations });
      const isKept = unread.keeps(key, entries.get(key) ?? null, entry);
      if (isKept) seen.add(seenName(key));
      if (isKept && entry !== null) entries.set(key, entry);
      else entries.delete(key);
      return 'added';
    },
  };
}

/**
 * Whoever may write there, with or without a key, can write any number of records that cannot be read, with any keys.
 * @limit Unreadable records of `gc.policies`. With more, everything is kept.
 */
const MOST_UNREADABLE = 1_000;
const MOST_UNREADABLE_CHARACTERS = 4_000_000;

/** Counts the records that cannot be read, of those that are kept. */
function createUnreadRoom() {
  let [records, characters, isOverfull] = [0, 0, false];
  const count = (key: string, sign: 1 | -1): void => {
    records += sign;
    characters += sign * key.length;
  };
  return {
    isOverfull: () => isOverfull,
    /** Whether there is room for what takes the place of what stood there. */
    keeps: (key: string, before: PolicyEntry | null, entry: PolicyEntry | null): boolean => {
      if (isUnreadable(before)) count(key, -1);
      if (!isUnreadable(entry)) return true;
      const hasRoom = records < MOST_UNREADABLE && characters + key.length <= MOST_UNREADABLE_CHARACTERS;
      if (hasRoom) count(key, 1);
      // What cannot be anything but an approval approves nothing, known or not.
      else isOverfull ||= !isApprovalKey(key);
      return hasRoom;
    },
  };
}

interface Highest {
  /** Of what was read before. */
  readonly before: SeenGenerations;
  /** Of what this pass has shown. */
  readonly generations: Map<string, number>;
}

/** What a record amounts to that is not signed as it has to be, or older than what it replaces, may be for any node. */
function believedEntryOf(
  record: LogRecord,
  trust: Trust,
  { before, generations }: Highest,
): PolicyEntry | null {
  const authentication = trust.authenticate('policies', record);
  if (!authentication.ok) return unreadable(record, authentication.distrust.message, null);
  const { principal } = authentication;
  const { generation } = principal.kind === 'key' ? principal : { generation: null };
  if (generation === null) return policyEntryOf(record, principal);
  const key = record.key ?? '';
  if (generation < (generations.get(key) ?? before.of('policies', key)))
    return unreadable(record, OLDER, null);
  const entry = policyEntryOf(record, principal);
  // What its signer may not say does not stand in the way of whoever may.
  if (!isUnreadable(entry)) generations.set(key, generation);
  return entry;
}

const OLDER =
  'it is older than what it replaces: somebody put an old record back, or a newer one was signed and did not come here. Apply, pause or delete it again';

/** The policies for each kind of subject, each with all pauses; approvals are for clusters alone. */
export type PolicySets = { readonly [Kind in SubjectKind]: PolicySetOf<Kind> };

/** The policies, pauses and approvals among them. Where a record cannot be read, what it may select is paused. */
export function setsOfEntries(entries: Iterable<PolicyEntry>): PolicySets {
  const all = [...entries];
  const pauses = all.flatMap((entry) => pauseOf(entry) ?? []);
  const approvals = all.flatMap((entry) => (entry.kind === 'approval' ? [entry.record] : []));
  return {
    node: policySet('node', policiesFor('node', all), pauses),
    cluster: policySet('cluster', policiesFor('cluster', all), pauses, approvals),
  };
}

const policiesFor = <Kind extends SubjectKind>(
  kind: Kind,
  entries: readonly PolicyEntry[],
): readonly PolicyRecordOf<Kind>[] =>
  entries.flatMap((entry) =>
    entry.kind === 'policy' && isPolicyFor(kind, entry.record) ? [entry.record] : [],
  );

function pauseOf(entry: PolicyEntry): PauseRecord | null {
  if (entry.kind === 'unreadable') return entry.hold;
  return entry.kind === 'pause' ? entry.record : null;
}

/** `null` when the record deletes its key. */
export function policyEntryOf(record: LogRecord, principal: Principal): PolicyEntry | null {
  const parsed = parseRecord('policies', record);
  if (!parsed.ok) return unreadable(record, parsed.rejection.message, selectorOf(record));
  const { event } = parsed;
  const objection = objectionToStating(principal, event);
  if (objection !== null) return unreadable(record, objection, null);
  switch (event.type) {
    case 'fleetgc.policy-deletion':
      return null;
    case 'fleetgc.pause':
      return { kind: 'pause', record: event };
    case 'fleetgc.approval':
      return { kind: 'approval', record: event };
    case 'fleetgc.policy':
    case 'fleetgc.cluster-policy':
      if (event.hash === contentHash(event.policy)) return { kind: 'policy', record: event };
      // Its selector is no more to be believed than the rest.
      return unreadable(record, 'its hash does not match its content', null);
  }
}

/** A record of `gc.policies` that cannot be understood. */
export type UnreadableEntry =
  | {
      readonly kind: 'unreadable';
      readonly problem: string;
      /** What it amounts to: a pause of the nodes that it may be meant for; `null` where that may be any node. */
      readonly hold: PauseRecord | null;
    }
  /** It stands where only approvals can: it approves nothing, and holds nothing. */
  | { readonly kind: 'unreadable-approval'; readonly problem: string };

function unreadable(record: LogRecord, why: string, selector: NodeSelector | null): UnreadableEntry {
  const { key, partition, offset } = record;
  const place = `key ${JSON.stringify(key === null ? null : shortened(key))}, partition ${partition}, offset ${offset}`;
  const problem = `gc.policies holds a record that cannot be read (${place}): ${why}`;
  if (key !== null && isApprovalKey(key)) return { kind: 'unreadable-approval', problem };
  return { kind: 'unreadable', problem, hold: selector && holdOf(selector, problem) };
}

const isUnreadable = (entry: { readonly kind: string } | null): entry is UnreadableEntry =>
  entry?.kind === 'unreadable' || entry?.kind === 'unreadable-approval';

/** A key may be as long as a message. */
const MOST_KEY_CHARACTERS = 200;

const shortened = (key: string): string =>
  key.length <= MOST_KEY_CHARACTERS ? key : `${key.slice(0, MOST_KEY_CHARACTERS)}…`.toWellFormed();

const holdOf = (selector: NodeSelector, problem: string): PauseRecord => ({
  type: 'fleetgc.pause',
  version: 1,
  id: deriveId('unreadable', problem),
  selector,
  reason: problem,
});

/** As much of a policy of this version as says for whom it is, and for whom a pause in its place would be. */
const SELECTING: { readonly [Kind in SubjectKind]: z.ZodType<Selecting> } = {
  node: z.looseObject({
    type: POLICY_RECORDS.node.shape.type,
    version: POLICY_RECORDS.node.shape.version,
    policy: z.looseObject({ name: z.string(), selector: NodeSelector }),
  }),
  cluster: z.looseObject({
    type: POLICY_RECORDS.cluster.shape.type,
    version: POLICY_RECORDS.cluster.shape.version,
    policy: z.looseObject({ name: z.string(), selector: ClusterSelector }),
  }),
};

/** A policy for clusters that cannot be read holds their nodes too: a pause is for both. */
const NO_CONDITIONS_OF_NODES = { nodeNames: [], pools: [], nodeLabels: {} };

interface Selecting {
  readonly policy: { readonly name: string; readonly selector: NodeSelector | ClusterSelector };
}

/** Which nodes the record may be meant for: the key of a pause says it, and of a policy what can be read. `null`: any. */
function selectorOf({ topic, key, value }: LogRecord): NodeSelector | null {
  if (key === null) return null;
  const ofPause = selectorOfPauseKey(key);
  if (ofPause !== null) return whole(ofPause);
  const json = parseAnyJson(topic, value);
  if (!json.ok) return null;
  const claimed = claimOf(json.event)?.type;
  const kind = SubjectKind.options.find((each) => POLICY_RECORDS[each].shape.type.value === claimed);
  if (kind === undefined || firstWrong(SELECTING[kind], json.event) !== null) return null;
  const policy = SELECTING[kind].safeParse(json.event).data?.policy;
  if (policy === undefined || keyOfPolicyNamed(kind, policy.name) !== key) return null;
  return whole({ ...NO_CONDITIONS_OF_NODES, ...policy.selector });
}

/** A set of policies has no hash with half a character in it. */
const whole = (selector: NodeSelector): NodeSelector | null =>
  brokenTexts(selector).length === 0 ? selector : null;
