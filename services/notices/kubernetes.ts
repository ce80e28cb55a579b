import { sha256Hex } from '../../packages/canonical/ids.ts';
import type { ApiAnswer, ApiConnection } from '../../packages/kube-api/connection.ts';
import { countNodeEvent, createNodeEvent, type EventReporter } from '../../packages/kube-api/events.ts';
import { notNowIn, refusalText, retryAfterMs } from '../../packages/kube-api/status.ts';
import { toFleetGcError } from '../../packages/process/errors.ts';
import { counted } from '../../packages/text/counted.ts';
import { NOTICE_KINDS } from '../../schemas/notices/notice.ts';
import { droppedCount, type Message, type Receiver, type Sent } from './message.ts';
import type { EventReason, Notice } from './notices.ts';

/** As client-go does: what is alike within ten minutes is one Event, which counts. */
const ALIKE_WITHIN_MS = 600_000;
/** As many as client-go remembers. */
const MOST_REMEMBERED = 4_096;
const REPORTER: EventReporter = { component: 'fleetgc-notify', instance: 'fleetgc-notify' };

/** A notice that becomes an Event on a Node. */
interface NodeNotice extends Notice {
  readonly node: string;
  readonly reason: EventReason;
}

const isNodeNotice = (notice: Notice): notice is NodeNotice => notice.node !== null && notice.reason !== null;

/** Whether a notice becomes an Event in this cluster. */
export const becomesEvent = (notice: Notice, cluster: string): boolean =>
  notice.cluster === cluster && isNodeNotice(notice);

/** Of one node and reason, what was written last. */
interface WrittenEvent {
  readonly name: string;
  readonly count: number;
  readonly firstMs: number;
}

interface KubernetesNeeds {
  readonly connection: ApiConnection;
  /** Milliseconds of a clock that does not jump. */
  readonly monotonicNow: () => number;
}

/** Notices as Events on the Nodes of one cluster. */
export class KubernetesReceiver implements Receiver {
  readonly #needs: KubernetesNeeds;
  /** By node and reason. */
  readonly #events = new Map<string, WrittenEvent>();
  readonly #budgets = new Map<string, Budget>();
  /** By node and reason: how often it was so that no Event has counted yet. */
  readonly #uncounted = new Map<string, number>();
  /** Ids of notices of the message in hand that are written: a message that failed half way comes again. */
  readonly #written = new Set<string>();

  constructor(needs: KubernetesNeeds) {
    this.#needs = needs;
  }

  async send(message: Message, signal: AbortSignal): Promise<Sent> {
    const notices = message.notices.filter(isNodeNotice).filter(({ id }) => !this.#written.has(id));
    const alike = Map.groupBy(notices, ({ node, reason }) => `${node} ${reason}`);
    const before = droppedCount(message.dropped);
    for (const [key, group] of alike) {
      const sent = await this.#write(key, group, { before, signal });
      if (sent.kind !== 'delivered') return sent;
      for (const { id } of group) this.#written.add(id);
    }
    this.#written.clear();
    return { kind: 'delivered' };
  }

  async #write(
    key: string,
    group: readonly NodeNotice[],
    { before, signal }: { readonly before: number; readonly signal: AbortSignal },
  ): Promise<Sent> {
    const last = group.at(-1);
    if (last === undefined) return { kind: 'delivered' };
    const times = group.length + (this.#uncounted.get(key) ?? 0);
    if (!this.#mayWrite(last.node)) {
      remember(this.#uncounted, key, times);
      return { kind: 'delivered' };
    }
    const dropped = before === 0 ? '' : ` (${counted(before, 'notice')} before this could not be delivered)`;
    const text = `${last.text}${dropped}`;
    try {
      const sent = await this.#countOrCreate(key, { last, text, times }, signal);
      if (sent.kind === 'delivered') this.#uncounted.delete(key);
      return sent;
    } catch (error) {
      return { kind: 'away', why: toFleetGcError(error).message, retryAfterMs: null };
    }
  }

  #mayWrite(node: string): boolean {
    const spent = spend(this.#budgets.get(node) ?? NO_EVENTS_YET, this.#needs.monotonicNow());
    if (spent === null) return false;
    remember(this.#budgets, node, spent);
    return true;
  }

  async #countOrCreate(
    key: string,
    { last, text, times }: { readonly last: NodeNotice; readonly text: string; readonly times: number },
    signal: AbortSignal,
  ): Promise<Sent> {
    const { connection } = this.#needs;
    const known = this.#events.get(key);
    if (known !== undefined && last.atMs - known.firstMs < ALIKE_WITHIN_MS) {
      const count = known.count + times;
      const counting = { name: known.name, message: text, count, lastMs: last.atMs };
      const answer = await countNodeEvent(connection, counting, signal);
      if (answer.status === 200) remember(this.#events, key, { ...known, count });
      // Events do not live for long.
      if (answer.status !== 404) return sentBy(answer);
    }
    const written = { name: eventName(last), count: times, firstMs: last.atMs };
    const type = NOTICE_KINDS[last.kind].severity === 'warning' ? 'Warning' : 'Normal';
    const { node, reason } = last;
    const event = { ...written, node, reason, type, message: text, lastMs: last.atMs } as const;
    const answer = await createNodeEvent(connection, event, REPORTER, signal);
    if (answer.status === 201 || answer.status === 409) remember(this.#events, key, written);
    return sentBy(answer);
  }
}

/** Those that were used last at the end. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MOST_REMEMBERED && oldest !== undefined) map.delete(oldest);
}

const MAX_NODE_PART = 200;

/** Follows from the id of the notice: what is told again is there already. */
function eventName({ node, id }: NodeNotice): string {
  const safe = node
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')
    .slice(0, MAX_NODE_PART);
  const part = safe.replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '').replace(/[.-]{2,}/g, '-');
  return `${part === '' ? 'node' : part}.${sha256Hex(id).slice(0, 16)}`;
}

const NEVER: ReadonlySet<number> = new Set([400, 413, 422]);

function sentBy(answer: ApiAnswer): Sent {
  const { status } = answer;
  // It was there already.
  if (status === 200 || status === 201 || status === 409) return { kind: 'delivered' };
  const notNow = notNowIn(answer);
  if (notNow !== null) return { kind: 'away', why: notNow.message, retryAfterMs: notNow.afterMs };
  const why = refusalText(answer);
  if (NEVER.has(status)) return { kind: 'refused', why };
  return { kind: status >= 500 ? 'away' : 'failed', why, retryAfterMs: retryAfterMs(answer) };
}

/** What may still be written about one node, at a time in milliseconds of a clock that does not jump. */
interface Budget {
  readonly events: number;
  readonly atMs: number;
}

/** As client-go's filter of spam: so many at once, and then one in five minutes. */
const MOST_AT_ONCE = 25;
const ONE_IN_MS = 300_000;

const NO_EVENTS_YET: Budget = { events: MOST_AT_ONCE, atMs: 0 };

/** What is left after one more; `null` where there may be no more now. */
function spend({ events, atMs }: Budget, nowMs: number): Budget | null {
  const grown = Math.min(MOST_AT_ONCE, events + Math.max(0, nowMs - atMs) / ONE_IN_MS);
  return grown < 1 ? null : { events: grown - 1, atMs: nowMs };
}
