import type { z } from 'zod';
import type { TraceContext } from '../../../packages/process/trace.ts';
import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { InventoryTrigger } from '../../../schemas/events/inventory.ts';
import type { Observe } from '../../../schemas/events/observe.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import { haveMoved } from './disks.ts';

/** An order to answer, with the trace it belongs to. */
export type Order = Pick<Observe, 'id' | 'takenAt' | 'lifetimeMs' | 'reclaim'> & {
  readonly trace?: TraceContext;
};

/** What the node last looked like. All times in this file are milliseconds since boot. */
export interface Facts {
  /** Differs when the listing differs; `null` when the last listing was not complete. */
  readonly fingerprint: string | null;
  readonly readings: FilesystemReadings;
}

/** One inventory to take and publish. */
export interface Work {
  readonly trigger: z.infer<typeof InventoryTrigger>;
  readonly order: Order | null;
  readonly diedContainerIds: readonly string[];
}

interface Answer {
  readonly atMs: number;
  readonly reclaim: Reclaim;
  readonly facts: Facts;
  /** How long the next answer waits while nothing changes. */
  readonly gapMs: number;
}

/** Everything that decides when the next inventory is due. */
export interface Pacing {
  readonly busy: boolean;
  readonly last: { readonly atMs: number; readonly fingerprint: string | null } | null;
  readonly died: { readonly sinceMs: number; readonly ids: ReadonlySet<string> } | null;
  readonly pending: Order | null;
  readonly lastAnswer: Answer | null;
  /** Ids of the orders answered last: the log may bring them again. */
  readonly answeredIds: readonly string[];
}

export const INITIAL_PACING: Pacing = {
  busy: false,
  last: null,
  died: null,
  pending: null,
  lastAnswer: null,
  answeredIds: [],
};

/** @limit Wait for more container exits before an inventory reports them. */
const DEATH_DEBOUNCE_MS = 5_000;
/** @limit Delay of the inventory after a change. Shorter fills the event log. */
const CHANGE_EVERY_MS = 60_000;
/** @limit Period of inventories without changes. `KNOWN_FOR_MS` and `ORDER_HOLDS_MS` of `simulate` depend on it. */
const INTERVAL_MS = 300_000;
/** @limit Shortest pause between requested inventories. It doubles up to `MAX_ANSWER_GAP_MS`. */
const MIN_ANSWER_GAP_MS = 10_000;
/** @limit Longest such pause, reached while the facts do not change. */
const MAX_ANSWER_GAP_MS = 300_000;
const REMEMBERED_ANSWERS = 32;

export type OrderOutcome = 'accepted' | 'repeated' | 'coalesced';

/**
 * Only one order waits: the newest, since the older one expires first, unless the older one goes on with the reclaim
 * that was answered last. `coalesced` means that one of two was dropped.
 */
export function onOrder(pacing: Pacing, order: Order): readonly [Pacing, OrderOutcome] {
  const { pending, lastAnswer } = pacing;
  if (pacing.answeredIds.includes(order.id) || pending?.id === order.id) return [pacing, 'repeated'];
  if (pending === null) return [{ ...pacing, pending: order }, 'accepted'];
  const keepsPending = goesOn(pending, lastAnswer) && !goesOn(order, lastAnswer);
  return [keepsPending ? pacing : { ...pacing, pending: order }, 'coalesced'];
}

/** Deaths within the next 5 s join. */
export function onDeaths(pacing: Pacing, ids: readonly string[], nowMs: number): Pacing {
  if (ids.length === 0) return pacing;
  const sinceMs = pacing.died?.sinceMs ?? nowMs;
  return { ...pacing, died: { sinceMs, ids: new Set([...(pacing.died?.ids ?? []), ...ids]) } };
}

/** Forgets an order that expired while it waited, and gives it back to be counted. */
export function expire(pacing: Pacing, nowMs: number): readonly [Pacing, Order | null] {
  const { pending } = pacing;
  if (pending === null || nowMs - pending.takenAt.sinceBootMs <= pending.lifetimeMs) return [pacing, null];
  return [{ ...pacing, pending: null }, pending];
}

/** What is due now, or the time until which nothing is unless something happens. */
type Due =
  | { readonly kind: 'work'; readonly work: Work }
  | { readonly kind: 'wait'; readonly untilMs: number };

export function due(pacing: Pacing, facts: Facts, nowMs: number): Due {
  if (pacing.busy) return { kind: 'wait', untilMs: Number.POSITIVE_INFINITY };
  const candidates = dueTimes(pacing, facts, nowMs);
  const ready = candidates.find(({ atMs }) => atMs <= nowMs);
  if (ready) return { kind: 'work', work: ready.work };
  return { kind: 'wait', untilMs: Math.min(...candidates.map(({ atMs }) => atMs)) };
}

interface Candidate {
  readonly atMs: number;
  readonly work: Work;
}

/** In the order in which they go first. */
function dueTimes({ last, died, pending, lastAnswer }: Pacing, facts: Facts, nowMs: number): Candidate[] {
  const candidate = (trigger: Work['trigger'], atMs: number, over: Partial<Work> = {}): Candidate => ({
    atMs,
    work: { trigger, order: null, diedContainerIds: [], ...over },
  });
  return [
    ...(pending ? [candidate('order', answerableAtMs(pending, lastAnswer, facts), { order: pending })] : []),
    ...(last ? [] : [candidate('start', nowMs)]),
    ...(died
      ? [candidate('container-died', died.sinceMs + DEATH_DEBOUNCE_MS, { diedContainerIds: [...died.ids] })]
      : []),
    ...(last && last.fingerprint !== facts.fingerprint
      ? [candidate('listing-changed', last.atMs + CHANGE_EVERY_MS)]
      : []),
    ...(last ? [candidate('interval', last.atMs + INTERVAL_MS)] : []),
  ];
}

/** At once for the next step or round of the reclaim in hand; else after the gap, short if anything changed. */
function answerableAtMs(order: Order, lastAnswer: Answer | null, facts: Facts): number {
  if (lastAnswer === null || goesOn(order, lastAnswer)) return Number.NEGATIVE_INFINITY;
  return lastAnswer.atMs + (isSame(lastAnswer.facts, facts) ? lastAnswer.gapMs : MIN_ANSWER_GAP_MS);
}

function goesOn({ reclaim }: Order, lastAnswer: Answer | null): boolean {
  if (lastAnswer?.reclaim.id !== reclaim.id) return false;
  return position(reclaim) > position(lastAnswer.reclaim);
}

/** Steps and rounds of one reclaim in their order. */
const position = ({ step, round }: Reclaim): number => (step === 'containers' ? 0 : round);

const isSame = (before: Facts, after: Facts): boolean =>
  before.fingerprint === after.fingerprint && !haveMoved(before.readings, after.readings);

/** The work begins: what it covers waits no longer. */
export function begin(pacing: Pacing, { trigger, order }: Work): Pacing {
  return {
    ...pacing,
    busy: true,
    died: trigger === 'container-died' ? null : pacing.died,
    pending: order === null ? pacing.pending : null,
  };
}

/** The inventory was handed on; `facts` are its own. */
export function finish(pacing: Pacing, { order }: Work, facts: Facts, nowMs: number): Pacing {
  const done = { ...pacing, busy: false, last: { atMs: nowMs, fingerprint: facts.fingerprint } };
  if (order === null) return done;
  return {
    ...done,
    lastAnswer: { atMs: nowMs, reclaim: order.reclaim, facts, gapMs: nextGapMs(pacing.lastAnswer, facts) },
    answeredIds: [...pacing.answeredIds, order.id].slice(-REMEMBERED_ANSWERS),
  };
}

const nextGapMs = (lastAnswer: Answer | null, facts: Facts): number =>
  lastAnswer !== null && isSame(lastAnswer.facts, facts)
    ? Math.min(lastAnswer.gapMs * 2, MAX_ANSWER_GAP_MS)
    : MIN_ANSWER_GAP_MS;
