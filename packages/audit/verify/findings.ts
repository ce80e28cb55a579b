import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { Place } from '../events/log-position.ts';
import { ReadSpan } from '../events/reading.ts';

/** What cannot be if everybody did what FleetGC promises. */
export type DeviationKind =
  /** The record is no event of its topic: no consumer takes it, and no service writes it. */
  | 'unreadable'
  /** An object in the record has a member twice, and readers differ in which of them they take. */
  | 'doubled-member'
  /** Two records have one id and different contents. */
  | 'id-reused'
  /** The id of a record does not follow from its content. */
  | 'wrong-id'
  /** The bytes that were decided on are not those on the log. */
  | 'input-changed'
  /** A record names as its input what cannot have been there: on another topic or partition, or behind the end. */
  | 'input-never-was'
  /** Deciding again gives another record. */
  | 'decided-differently'
  /** A decision under policies that `gc.policies` did not hold any more. */
  | 'policies-outdated'
  /** A decision under policies that `gc.policies` had not held by then, or never. */
  | 'policies-never-held'
  /** A record says that its message was overtaken, by what could not overtake it. */
  | 'wrongly-overtaken'
  /** A command or order is not the one that was decided, or not what follows from its command; or an inventory answers another order. */
  | 'output-differs'
  /** A command or order that was decided is not there, and the decider went on. */
  | 'output-missing'
  /** A command or order that no decision lists, or an inventory of a reclaim that no order has. */
  | 'not-decided'
  /** A command names an object that its decision did not say to remove. */
  | 'kept-object'
  /** A message was passed over: no decision, no dead letter. */
  | 'undecided'
  /** A result of a command, or about an object, that nobody commanded. */
  | 'not-commanded'
  /** A result disagrees with its command or with other results. */
  | 'result-differs'
  /** The results of a command are not all there, and its executor went on. */
  | 'result-missing'
  /** An executor changed an object of a cluster, and had not put on the log before that it would. */
  | 'not-announced'
  /** A policy or set of policies is not what its hash says. */
  | 'policy-changed'
  /** `gc.latest-facts` says that a fact lies where it does not, was put back, or was deleted: whoever wrote it wants to hide a node. */
  | 'wrong-position'
  /** No key signed the record that had to, or it was put back; told only of who asks with a file of roots. */
  | 'not-trusted'
  /** Decisions that a signed head names are not there. As all that follows, told only of who asks with a file of roots. */
  | 'decisions-cut'
  /** Decisions are not those that a signed head names. */
  | 'decisions-rewritten'
  /** Two signed heads name the same decisions, and not as the same. */
  | 'heads-contradict'
  /** The archive has fewer lines than a signed head of it says. */
  | 'archive-cut'
  /** The archive is not what a signed head says that it was. */
  | 'archive-rewritten'
  /** A statement about a key is not there any more. */
  | 'statement-missing'
  /** A head is not there any more. */
  | 'head-missing'
  /** No head names it, where heads are required. */
  | 'no-heads';

export interface Deviation {
  readonly kind: DeviationKind;
  /** A sentence for the operator. */
  readonly message: string;
  /** `cluster/node`; `null` where the record does not tell. */
  readonly node: string | null;
  /** The record itself first, then the one that it disagrees with. */
  readonly places: readonly Place[];
}

/** Why something could not be verified, although nothing is wrong with it. */
export type GapKind =
  | 'input-gone'
  /** The same for disk statistics older than they are kept: pressure's decisions are kept much longer. */
  | 'disk-stats-gone'
  /** The topic was deleted and made anew since. */
  | 'topic-recreated'
  /** The first decisions that a head names are not there, and should still be by how long they are kept. */
  | 'decisions-gone'
  | 'unknown-decider'
  | 'unknown-policy-set'
  | 'unknown-version'
  | 'records-missing'
  /** The log took a head long before its writer wrote what it names. */
  | 'head-out-of-time'
  /** Decisions that no head names, where heads are required; their service may have ended without a word. */
  | 'without-head'
  /** The log that still lives has no head of the archive. */
  | 'archive-unknown'
  /** Objects of a command have results and it has none, although its node lived on: it may be late, or lost. */
  | 'answer-missing'
  /** An executor announced objects of a command, and no result tells what came of them. */
  | 'intent-open';

export interface Gap {
  readonly kind: GapKind;
  readonly message: string;
  readonly node: string | null;
  readonly places: readonly Place[];
}

/** An object that a node listed and then did not, without any result that says FleetGC did it. */
export interface NotOurs {
  readonly kind: ObjectKind;
  readonly id: string;
  readonly node: string;
  /** The last inventory that lists it, and the first that does not. */
  readonly places: readonly [Place, Place];
}

/** A command that expired, and of which no result says anything: whoever runs its node wants to know. */
export interface Unanswered {
  /** Whether its node published what it saw after that. */
  readonly kind: 'node-lives-on' | 'node-silent';
  readonly id: string;
  readonly node: string;
  readonly place: Place;
  /** When its node published an inventory last, by the log's clock; `null` where none was read. */
  readonly heardMs: number | null;
}

/** What is only counted. */
export interface Counts {
  /** Records read, of any topic. */
  records: number;
  bytes: number;
  inventories: number;
  diskStats: number;
  /** These and the next ones each once, however often they lie there. */
  decisions: number;
  /** Decisions that came out the same again. */
  verified: number;
  commands: number;
  orders: number;
  results: number;
  removals: number;
  /** Records that lie there more than once, with the same content. */
  duplicates: number;
  /** Commands that expired without a result of their own. */
  expired: number;
  /** Commands and orders that may still come, commands that may still be answered, messages that may still be decided. */
  open: number;
  /** Effects whose causes, or decided outputs, may have been deleted or lie before what was read, so that nobody checked them. */
  outOfRange: number;
  /** Results that agree with a command from before the range. */
  ofEarlier: number;
  /** Messages that a decider gave up, with a dead letter. */
  deadLettered: number;
  /**
   * Decisions that are as a signed head says; those that one names together with others that are not there, so that nobody can
   * compare them; and those that no head names. All are 0 for who asks without a file of roots.
   */
  headed: number;
  headedInPart: number;
  withoutHead: number;
}

export const noCounts = (): Counts => ({
  records: 0,
  bytes: 0,
  inventories: 0,
  diskStats: 0,
  decisions: 0,
  verified: 0,
  commands: 0,
  orders: 0,
  results: 0,
  removals: 0,
  duplicates: 0,
  expired: 0,
  open: 0,
  outOfRange: 0,
  ofEarlier: 0,
  deadLettered: 0,
  headed: 0,
  headedInPart: 0,
  withoutHead: 0,
});

/** Takes what is found, in the order in which it is. */
export interface Findings {
  readonly counts: Counts;
  readonly deviation: (deviation: Deviation) => void;
  readonly gap: (gap: Gap) => void;
  readonly notOurs: (object: NotOurs) => void;
  readonly unanswered: (command: Unanswered) => void;
}

/** So many of a kind are told; all are counted. */
export const MOST_TOLD = 1_000;

/** Findings of one sort, in as much as anybody reads; whoever wants more verifies a shorter time. */
export interface FoundList<Item> {
  readonly total: number;
  readonly byKind: Readonly<Record<string, number>>;
  readonly first: readonly Item[];
}

export interface Found {
  /** The time of the log that was read, epoch milliseconds; both `null` where no record lies in it. */
  readonly firstRecordMs: number | null;
  readonly lastRecordMs: number | null;
  readonly counts: Readonly<Counts>;
  readonly deviations: FoundList<Deviation>;
  readonly unverified: FoundList<Gap>;
  readonly notOurs: FoundList<NotOurs>;
  readonly unanswered: FoundList<Unanswered>;
}

interface Collector extends Findings {
  /** A record of this time was read. */
  readonly passed: (timestampMs: number) => void;
  readonly found: () => Found;
}

/** Collects findings in bounded memory. */
export function createCollector(): Collector {
  const counts = noCounts();
  const deviations = createList<Deviation>();
  const gaps = createList<Gap>();
  const notOurs = createList<NotOurs>();
  const unanswered = createList<Unanswered>();
  const span = new ReadSpan();
  return {
    counts,
    passed: (timestampMs) => span.reach(timestampMs),
    deviation: deviations.add,
    gap: gaps.add,
    notOurs: notOurs.add,
    unanswered: unanswered.add,
    found: () => ({
      firstRecordMs: span.firstMs,
      lastRecordMs: span.lastMs,
      counts,
      deviations: deviations.found(),
      unverified: gaps.found(),
      notOurs: notOurs.found(),
      unanswered: unanswered.found(),
    }),
  };
}

/** What several partitions have shown, together. */
export function mergeFound(all: readonly Found[]): Found {
  const counts = noCounts();
  const span = new ReadSpan();
  for (const found of all) {
    addCounts(counts, found.counts);
    for (const ms of [found.firstRecordMs, found.lastRecordMs]) if (ms !== null) span.reach(ms);
  }
  return {
    firstRecordMs: span.firstMs,
    lastRecordMs: span.lastMs,
    counts,
    deviations: mergeLists(all.map(({ deviations }) => deviations)),
    unverified: mergeLists(all.map(({ unverified }) => unverified)),
    notOurs: mergeLists(all.map(({ notOurs }) => notOurs)),
    unanswered: mergeLists(all.map(({ unanswered }) => unanswered)),
  };
}

function createList<Item extends { readonly kind: string }>() {
  const first: Item[] = [];
  const byKind = new Map<string, number>();
  return {
    add: (item: Item): void => {
      const before = byKind.get(item.kind) ?? 0;
      byKind.set(item.kind, before + 1);
      if (before < MOST_TOLD) first.push(item);
    },
    found: (): FoundList<Item> => ({ total: sumOf(byKind), byKind: Object.fromEntries(byKind), first }),
  };
}

function mergeLists<Item extends { readonly kind: string }>(
  lists: readonly FoundList<Item>[],
): FoundList<Item> {
  const { add, found } = createList<Item>();
  for (const { first } of lists) first.forEach(add);
  const byKind = new Map<string, number>();
  for (const list of lists)
    for (const [kind, count] of Object.entries(list.byKind))
      byKind.set(kind, (byKind.get(kind) ?? 0) + count);
  return { total: sumOf(byKind), byKind: Object.fromEntries(byKind), first: found().first };
}

const sumOf = (byKind: ReadonlyMap<string, number>): number =>
  [...byKind.values()].reduce((sum, count) => sum + count, 0);

const isCount = (key: string, counts: Counts): key is keyof Counts => key in counts;

function addCounts(counts: Counts, more: Readonly<Counts>): void {
  for (const key of Object.keys(counts)) if (isCount(key, counts)) counts[key] += more[key];
}

/**
 * Whether two values have the same canonical JSON (RFC 8785): the order of members plays no part, and one that is `undefined`
 * is none. Comparing them is quicker than writing them both.
 */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b)) return false;
  if (!Array.isArray(a) || !Array.isArray(b))
    return !Array.isArray(a) && !Array.isArray(b) && sameMembers(a, b);
  return a.length === b.length && a.every((item, at) => sameJson(item, b[at]));
}

function sameMembers(a: JsonObject, b: JsonObject): boolean {
  const [named, other] = [Object.keys(a), Object.keys(b)];
  return sameNames(named, other)
    ? named.every((name) => sameJson(a[name], b[name]))
    : sameInAnyOrder(named, other, { a, b });
}

/** As it is with what was written by the same program. */
function sameNames(named: readonly string[], other: readonly string[]): boolean {
  return named.length === other.length && named.every((name, at) => name === other[at]);
}

/** Own ones alone: a record may have a member of any name, also of one that every object inherits. */
function sameInAnyOrder(
  named: readonly string[],
  other: readonly string[],
  { a, b }: { readonly a: JsonObject; readonly b: JsonObject },
): boolean {
  let more = 0;
  for (const name of named) {
    if (a[name] === undefined) continue;
    if (!Object.hasOwn(b, name) || !sameJson(a[name], b[name])) return false;
    more += 1;
  }
  for (const name of other) if (b[name] !== undefined) more -= 1;
  return more === 0;
}

type JsonObject = Readonly<Record<string, unknown>>;

const MOST_TEXT = 60;

/** The first place at which two values differ, for people: `verdicts.images.3.rule is "D10" and not "D8"`. */
export function firstDifference(found: unknown, expected: unknown): string {
  const path: string[] = [];
  let [a, b] = [found, expected];
  for (let key = differingKey(a, b); key !== null; key = differingKey(a, b)) {
    path.push(key);
    [a, b] = [member(a, key), member(b, key)];
  }
  return `${path.join('.') || 'it'} is ${short(a)} and not ${short(b)}`;
}

/** `null` where they are not both objects or both lists: then they differ as a whole. */
function differingKey(a: unknown, b: unknown): string | null {
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return null;
  const keys = new Set([...Object.keys(b), ...Object.keys(a)]);
  return [...keys].find((key) => !sameJson(member(a, key), member(b, key))) ?? null;
}

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null;

const member = (value: unknown, key: string): unknown =>
  isObject(value) ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined;

function short(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT)}…`;
}
