import type { ClusterCommand } from '../../../schemas/events/cluster-command.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { DeadLetter } from '../../../schemas/events/dead-letter.ts';
import type { SubjectKind } from '../../../schemas/events/identity.ts';
import type { Observe } from '../../../schemas/events/observe.ts';
import { isOffsetText } from '../../../schemas/events/offset-text.ts';
import type { PressureUnrelieved, ReclaimContinues } from '../../../schemas/events/result.ts';
import type { TopicAbout, TopicId } from '../../../schemas/events/topics.ts';
import { endingId } from '../../decision/record.ts';
import type { LogRecord } from '../../log/port.ts';
import { EVENT_SCHEMAS } from '../../records/parse/parse-record.ts';
import { objectKey, type Place, placeOf } from '../events/log-position.ts';
import type { DecisionHead, RecordedDecision } from '../events/recorded-decision.ts';
import { type Coverages, type Judging, SETTLED_MS, tellMissing } from './coverage.ts';
import { type DecidingAgain, decideAgain, type OutputEvent, type Redecided } from './decisions.ts';
import { type Findings, firstDifference, noCounts, sameJson } from './findings.ts';
import { DECIDES_ON, type Inputs } from './inputs.ts';
import type { Executed, OfReclaim } from './reclaims.ts';
import { actionCounts, decidedActions, itemName, removableObjects, removalCounts } from './removals.ts';

/** A decider publishes records of many messages and then what follows from them; a minute later it has, or never will. */
const SENT_WITHIN_MS = 60_000;
const MOST_MATCHED = 50_000;

/** A command, order or fact about a reclaim as it lies on the log. */
export interface Effect {
  readonly record: LogRecord;
  readonly value: unknown;
  readonly event: Command | ClusterCommand | Observe | ReclaimContinues | PressureUnrelieved;
}

/** Whether an executor says so of a reclaim of its own, and as its command says. */
type ExecutedBy = (event: OfReclaim) => Executed | null;

/** A decided output that is not on the log yet, and when its decider was first seen to have gone on. */
interface Unsent {
  decided: Decided;
  wentOnMs: number | null;
}

/** Brings together what was decided and what was sent, in whatever order they come, and judges what stays alone. */
export class DecidedOutputs {
  readonly #findings: Findings;
  readonly #coverages: Coverages;
  readonly #executed: ExecutedBy;
  readonly #unsent = new Map<string, Unsent>();
  readonly #undecided = new Map<string, Effect>();
  /** By decider, when it published a record last. */
  readonly #lastRecordMs = new Map<string, number>();
  /** Messages that lie twice on the log are decided twice, with the same outputs. */
  readonly #matched = new Set<string>();

  constructor(findings: Findings, coverages: Coverages, executed: ExecutedBy) {
    this.#findings = findings;
    this.#coverages = coverages;
    this.#executed = executed;
  }

  /** A decider published a record, which lists these outputs; perhaps not for the first time. */
  recorded(head: DecisionHead, record: LogRecord): void {
    const { name } = head.decider;
    this.#lastRecordMs.set(name, Math.max(record.timestampMs, this.#lastRecordMs.get(name) ?? 0));
    if (this.#unsent.size === 0) return;
    for (const output of [...head.outputIds, endingId(head.id)]) repeat(this.#unsent.get(output), record);
    for (const one of this.#unsent.values()) noteGoingOn(one, name, record);
  }

  decided(decided: Decided): void {
    const effect = this.#undecided.get(decided.id);
    this.#undecided.delete(decided.id);
    if (effect !== undefined) this.#match(effect, decided);
    else if (!this.#matched.has(decided.id)) this.#unsent.set(decided.id, { decided, wentOnMs: null });
  }

  sent(effect: Effect): void {
    const one = this.#unsent.get(effect.event.id);
    this.#unsent.delete(effect.event.id);
    if (one === undefined) this.#undecided.set(effect.event.id, effect);
    else this.#match(effect, one.decided);
  }

  judge({ beforeMs, atEnd }: Judging): void {
    for (const [id, effect] of this.#undecided)
      if (effect.record.timestampMs < beforeMs) this.#judgeEffect(id, effect);
    for (const one of this.#unsent.values())
      if (one.decided.decision.timestampMs < beforeMs) this.#judgeUnsent(one, atEnd);
  }

  #match(effect: Effect, decided: Decided): void {
    compare(effect, decided, this.#findings);
    this.#matched.add(decided.id);
    const [oldest] = this.#matched;
    if (this.#matched.size > MOST_MATCHED && oldest !== undefined) this.#matched.delete(oldest);
  }

  #judgeEffect(id: string, { event, record }: Effect): void {
    this.#undecided.delete(id);
    const place = placeOf(record);
    const node = record.key;
    const following = isOrder(event) ? null : this.#executed(event);
    if (following !== null) tellDifference(following, { node, place }, this.#findings);
    else if (place.timestampMs - SETTLED_MS < this.#coverages.coverage(decisionsOn(event)))
      this.#findings.counts.outOfRange++;
    else {
      const due = { topicId: this.#causeOf(event, place), timestampMs: place.timestampMs };
      const message = `no decision lists ${id}`;
      tellMissing(this.#findings, this.#coverages, due, {
        kind: 'not-decided',
        message,
        node,
        places: [place],
      });
    }
  }

  /** Where a cause of it is to lie; facts about a reclaim follow from commands too. */
  #causeOf(event: Effect['event'], { timestampMs }: Place): TopicId {
    return !isOrder(event) && this.#coverages.beganAfter('commands', timestampMs)
      ? 'commands'
      : decisionsOn(event);
  }

  #judgeUnsent(one: Unsent, atEnd: boolean): void {
    const { id, decider, decision, topicId, node } = one.decided;
    const wentOn = this.#hasGoneOn(one);
    if (!wentOn && !atEnd) return;
    this.#unsent.delete(id);
    if (topicId === null) return;
    if (!wentOn) this.#findings.counts.open++;
    else if (decision.timestampMs < this.#coverages.coverage(topicId)) this.#findings.counts.outOfRange++;
    else {
      const due = { topicId, timestampMs: decision.timestampMs };
      const message = `the decision gives ${id}, which is not on the log, and ${decider} decided on after that`;
      tellMissing(this.#findings, this.#coverages, due, {
        kind: 'output-missing',
        message,
        node,
        places: [decision],
      });
    }
  }

  /** For a while: one that comes back after a crash begins with what it did last, and repeats it. */
  #hasGoneOn({ decided: { decider }, wentOnMs }: Unsent): boolean {
    return wentOnMs !== null && (this.#lastRecordMs.get(decider) ?? 0) - wentOnMs > SENT_WITHIN_MS;
  }
}

/** Nobody but deciders orders anything. */
const isOrder = (event: Effect['event']): event is Command | ClusterCommand | Observe =>
  event.type === 'fleetgc.node.command' ||
  event.type === 'fleetgc.cluster.command' ||
  event.type === 'fleetgc.node.observe';

const decisionsOn = ({ type }: Effect['event']): TopicId =>
  type === 'fleetgc.cluster.command' ? 'clusterDecisions' : 'decisions';

/** What a decider does once more it has not passed by. */
function repeat(one: Unsent | undefined, record: LogRecord): void {
  if (one === undefined) return;
  one.decided = { ...one.decided, decision: placeOf(record) };
  one.wentOnMs = null;
}

function noteGoingOn(one: Unsent, decider: string, { timestampMs }: LogRecord): void {
  const isLater = timestampMs - one.decided.decision.timestampMs > SENT_WITHIN_MS;
  if (one.decided.decider === decider && isLater) one.wentOnMs ??= timestampMs;
}

function compare({ event, value, record }: Effect, decided: Decided, findings: Findings): void {
  const { content, node, decision } = decided;
  const found = { node, places: [placeOf(record), decision] };
  if (content !== null && !sameJson(value, content)) {
    const message = `it is not what was decided: ${firstDifference(value, content)}`;
    findings.deviation({ kind: 'output-differs', message, ...found });
  }
  for (const message of keptObjects(namedBy(event), decided))
    findings.deviation({ kind: 'kept-object', message, ...found });
}

function tellDifference(
  { difference, command }: Executed,
  { node, place }: { readonly node: string | null; readonly place: Place },
  findings: Findings,
): void {
  if (difference === null) return;
  const message = `it is not what follows from its command: ${difference}`;
  findings.deviation({ kind: 'output-differs', message, node, places: [place, command] });
}

/** What a command names, and as what of a decision it counts. */
interface Named {
  readonly kind: string;
  readonly name: string;
}

function namedBy(event: Effect['event']): readonly Named[] {
  if (event.type === 'fleetgc.node.command')
    return event.items.map((item) => ({ kind: item.kind, name: objectKey(item) }));
  if (event.type !== 'fleetgc.cluster.command') return [];
  return event.items.map((item) => ({ kind: item.act.action, name: itemName(item) }));
}

/** Verdicts name positions: without the inventory they can only be counted. */
function keptObjects(items: readonly Named[], { removable, removals }: Decided): readonly string[] {
  if (removable !== null)
    return items
      .map(({ name }) => name)
      .filter((name) => !removable.has(name))
      .map((name) => `it names ${name}, which its decision did not say to remove`);
  if (removals === null) return [];
  const kinds = items.map(({ kind }) => kind);
  return [...new Set(kinds)]
    .map((kind) => ({
      kind,
      named: kinds.filter((one) => one === kind).length,
      most: removals.get(kind) ?? 0,
    }))
    .filter(({ named, most }) => named > most)
    .map(
      ({ kind, named, most }) => `it names ${named} of kind ${kind}, and its decision says to remove ${most}`,
    );
}

/** Something that a decision lists or gives. */
export interface Decided {
  readonly id: string;
  /** `null` where nobody could decide again. */
  readonly content: OutputEvent | null;
  /** Where it is to lie; `null` when nobody knows whether there is such a fact at all. */
  readonly topicId: TopicId | null;
  readonly decision: Place;
  readonly node: string;
  readonly decider: string;
  /** What the decision says to remove; `null` where that is not known. */
  readonly removable: ReadonlySet<string> | null;
  /** How many of each kind it says to remove, which needs no inventory; `null` where that is not known. */
  readonly removals: ReadonlyMap<string, number> | null;
}

/** All that must lie on the log after a decision. */
export function decidedBy(
  { record, subject, value, head }: RecordedDecision,
  { input: decidedOn, outputs }: Redecided,
  inputs: Inputs,
): readonly Decided[] {
  const following = FOLLOWING[subject.kind];
  const input = decidedOn && head.outcome === 'commanded' ? inputs.messageOf(decidedOn) : null;
  const common = {
    decision: placeOf(record),
    node: subject.key,
    decider: head.decider.name,
    removable: input?.ok ? following.removable(value, input.event) : null,
    removals: outputs === null && head.outputIds.length > 0 ? following.removals(value) : null,
  };
  if (outputs !== null)
    return outputs.map((content) => ({
      ...common,
      id: content.id,
      content,
      topicId: topicOf(subject.kind, content.type),
    }));
  const topicId = following.listedBy(head);
  const listed = head.outputIds.map((id) => ({ ...common, id, content: null, topicId }) as const);
  const ending = { ...common, id: endingId(head.id), content: null, topicId: null };
  return subject.kind === 'node' ? [...listed, ending] : listed;
}

interface Following<Kind extends SubjectKind> {
  /** Where what follows from a decision may lie, beside its record or elsewhere. */
  readonly topics: readonly TopicAbout<Kind>[];
  /** Where that lies which a decision lists. */
  readonly listedBy: (head: DecisionHead) => TopicAbout<Kind>;
  /** What a decision says to do by what it was made on, and how often it says to do what; `null` where that cannot be read. */
  readonly removable: (decision: unknown, input: unknown) => ReadonlySet<string> | null;
  readonly removals: (decision: unknown) => ReadonlyMap<string, number> | null;
}

const FOLLOWING: { readonly [Kind in SubjectKind]: Following<Kind> } = {
  node: {
    topics: ['commands', 'observe', 'decisions'],
    listedBy: ({ outcome }) => (outcome === 'commanded' ? 'commands' : 'observe'),
    removable: removableObjects,
    removals: removalCounts,
  },
  cluster: {
    topics: ['clusterCommands'],
    listedBy: () => 'clusterCommands',
    removable: decidedActions,
    removals: actionCounts,
  },
};

/** `null` for what no decider of this release gives. */
const topicOf = (kind: SubjectKind, type: string): TopicId | null =>
  FOLLOWING[kind].topics.find((topicId) => EVENT_SCHEMAS[topicId].versionsOf(type).length > 0) ?? null;

/**
 * Decisions from right before the range: what follows from them may lie in it, and is compared with what they give. Only those
 * of which that is so are decided again, and none is counted.
 */
export class EarlierDecisions {
  readonly #causes = new Map<string, RecordedDecision>();
  readonly #uncounted: DecidingAgain;

  constructor(parts: DecidingAgain) {
    this.#uncounted = { ...parts, findings: { ...parts.findings, counts: noCounts() } };
  }

  decided(decision: RecordedDecision): void {
    const { id, outputIds } = decision.head;
    for (const output of [...outputIds, endingId(id)]) this.#causes.set(output, decision);
  }

  /** What such a decision gives under this id; nothing where none does. */
  async giving(id: string): Promise<readonly Decided[]> {
    const decision = this.#causes.get(id);
    if (decision === undefined) return [];
    this.#causes.delete(id);
    const again = await decideAgain(decision, this.#uncounted);
    return decidedBy(decision, again, this.#uncounted.inputs).filter((decided) => decided.id === id);
  }
}

/** Most decisions give nothing, and those need not be parsed. The fact that a reclaim ended is not among the listed ids. */
export const mayHaveOutputs = ({ value }: LogRecord): boolean =>
  value !== null && !(value.includes('"outputIds":[]') && value.includes('"reclaim":null'));

/** Consumer groups are called after their deciders. */
const groupOf = (decider: string): string => `fleetgc-${decider}`;

/** Redelivered messages, and those from before the range, are decided and never come by. */
const MOST_EARLY = 10_000;

interface Awaited {
  readonly place: Place;
  readonly node: string | null;
}

/** The messages that one decider has not decided on yet, and how far it has come. */
interface Progress {
  readonly decider: string;
  readonly topic: string;
  readonly awaited: Map<bigint, Awaited>;
  /** Decided before they came by, since brokers' clocks differ. */
  readonly early: Set<bigint>;
  /** The last offset that it decided on; `null` when it decided nothing here. */
  last: bigint | null;
}

/** Of a node with many dead letters, one may stand for messages before it. Returns how many messages these can have been. */
function forgetCounted({ awaited }: Progress, { key, offset, suppressedBefore }: DeadLetter): number {
  const node = key === null ? null : Buffer.from(key, 'base64').toString();
  const counted = [...awaited]
    .filter(([before, waiting]) => waiting.node === node && before < BigInt(offset))
    .toReversed()
    .slice(0, suppressedBefore);
  for (const [before] of counted) awaited.delete(before);
  return counted.length;
}

/** Finds messages that a decider passed over: it takes them in their order, so it has decided or given up all before its last. */
export class UndecidedMessages {
  readonly #findings: Findings;
  readonly #all: readonly Progress[] = Object.entries(DECIDES_ON).flatMap(([decider, topics]) =>
    topics.map((topic) => ({ decider, topic, awaited: new Map(), early: new Set(), last: null })),
  );

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  arrived(record: LogRecord): void {
    for (const { topic, awaited, early } of this.#all)
      if (topic === record.topic && !early.delete(record.offset))
        awaited.set(record.offset, { place: placeOf(record), node: record.key });
  }

  decided({ decider, input }: DecisionHead): void {
    const progress = this.#all.find((one) => one.topic === input.topic && one.decider === decider.name);
    if (progress === undefined || !isOffsetText(input.offset)) return;
    const offset = BigInt(input.offset);
    if (!progress.awaited.delete(offset)) progress.early.add(offset);
    if (progress.last === null || offset > progress.last) progress.last = offset;
  }

  givenUp(letter: DeadLetter): void {
    const { counts } = this.#findings;
    const progress = this.#all.find(
      (one) => one.topic === letter.topic && groupOf(one.decider) === letter.group,
    );
    if (progress === undefined || !isOffsetText(letter.offset)) return;
    const offset = BigInt(letter.offset);
    if (progress.awaited.delete(offset)) counts.deadLettered++;
    else progress.early.add(offset);
    counts.deadLettered += forgetCounted(progress, letter);
  }

  judge(judging: Judging): void {
    for (const progress of this.#all) {
      for (const [offset, waiting] of progress.awaited)
        if (waiting.place.timestampMs < judging.beforeMs)
          this.#judgeOne(progress, { offset, ...waiting }, judging);
      if (progress.early.size > MOST_EARLY) progress.early.clear();
    }
  }

  #judgeOne(
    { awaited, decider, last }: Progress,
    { offset, place, node }: Awaited & { readonly offset: bigint },
    { atEnd }: Judging,
  ): void {
    const mayCome = last !== null && offset > last;
    if (mayCome && !atEnd) return;
    awaited.delete(offset);
    // Whoever does not run here decides nothing.
    if (last === null) return;
    if (mayCome) this.#findings.counts.open++;
    else
      this.#findings.deviation({
        kind: 'undecided',
        message: `${decider} has no decision about it, and decided on later ones; there is no dead letter of it either`,
        node,
        places: [place],
      });
  }
}
