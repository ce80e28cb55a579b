import type { ClusterCommand } from '../../../../schemas/events/cluster-command.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { Observe } from '../../../../schemas/events/observe.ts';
import type { PressureUnrelieved, ReclaimContinues } from '../../../../schemas/events/result.ts';
import type { TopicId } from '../../../../schemas/events/topics.ts';
import { endingId } from '../../../decision/decision-record.ts';
import type { LogRecord } from '../../../log/port.ts';
import { objectKey } from '../../events/identity.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import type { DecisionHead } from '../../events/recorded-decision.ts';
import { itemName } from '../clusters/decided-actions.ts';
import { type BeganAfter, type Coverage, type Judging, SETTLED_MS, tellMissing } from '../coverage.ts';
import type { Findings } from '../findings.ts';
import type { Executed, OfReclaim } from '../reclaims/executed-reclaims.ts';
import { firstDifference, sameJson } from '../same-json.ts';
import type { Decided } from './outputs-of-decisions.ts';

/** A decider publishes records of many messages and then what follows from them; a minute later it has, or never will. */
const SENT_WITHIN_MS = 60_000;
const MOST_MATCHED = 50_000;

/** A command, order or fact about a reclaim as it lies on the log. */
export interface Effect {
  readonly record: LogRecord;
  readonly value: unknown;
  readonly event: Command | ClusterCommand | Observe | ReclaimContinues | PressureUnrelieved;
}

export interface DecidedOutputsParts {
  readonly findings: Findings;
  readonly coverage: Coverage;
  readonly beganAfter: BeganAfter;
  /** Whether an executor says so of a reclaim of its own, and as its command says. */
  readonly executed: (event: OfReclaim) => Executed | null;
}

/** A decided output that is not on the log yet, and when its decider was first seen to have gone on. */
interface Unsent {
  decided: Decided;
  wentOnMs: number | null;
}

/** Brings together what was decided and what was sent, in whatever order they come, and judges what stays alone. */
export class DecidedOutputs {
  readonly #parts: DecidedOutputsParts;
  readonly #unsent = new Map<string, Unsent>();
  readonly #undecided = new Map<string, Effect>();
  /** By decider, when it published a record last. */
  readonly #lastRecordMs = new Map<string, number>();
  /** Messages that lie twice on the log are decided twice, with the same outputs. */
  readonly #matched = new Set<string>();

  constructor(parts: DecidedOutputsParts) {
    this.#parts = parts;
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
    compare(effect, decided, this.#parts.findings);
    this.#matched.add(decided.id);
    const [oldest] = this.#matched;
    if (this.#matched.size > MOST_MATCHED && oldest !== undefined) this.#matched.delete(oldest);
  }

  #judgeEffect(id: string, { event, record }: Effect): void {
    const { findings, coverage, executed } = this.#parts;
    this.#undecided.delete(id);
    const place = placeOf(record);
    const node = record.key;
    const following = isOrder(event) ? null : executed(event);
    if (following !== null) tellDifference(following, { node, place }, findings);
    else if (place.timestampMs - SETTLED_MS < coverage(decisionsOn(event))) findings.counts.outOfRange++;
    else {
      const due = { topicId: this.#causeOf(event, place), timestampMs: place.timestampMs };
      const message = `no decision lists ${id}`;
      tellMissing(this.#parts, due, { kind: 'not-decided', message, node, places: [place] });
    }
  }

  /** Where a cause of it is to lie; facts about a reclaim follow from commands too. */
  #causeOf(event: Effect['event'], { timestampMs }: Place): TopicId {
    return !isOrder(event) && this.#parts.beganAfter('commands', timestampMs)
      ? 'commands'
      : decisionsOn(event);
  }

  #judgeUnsent(one: Unsent, atEnd: boolean): void {
    const { findings, coverage } = this.#parts;
    const { id, decider, decision, topicId, node } = one.decided;
    const wentOn = this.#hasGoneOn(one);
    if (!wentOn && !atEnd) return;
    this.#unsent.delete(id);
    if (topicId === null) return;
    if (!wentOn) findings.counts.open++;
    else if (decision.timestampMs < coverage(topicId)) findings.counts.outOfRange++;
    else {
      const due = { topicId, timestampMs: decision.timestampMs };
      const message = `the decision gives ${id}, which is not on the log, and ${decider} decided on after that`;
      tellMissing(this.#parts, due, { kind: 'output-missing', message, node, places: [decision] });
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
