import type { SubscriptionState } from '../../packages/event-log/port.ts';
import { SILENT_AFTER_MS } from '../../packages/fleet-watch/node-track.ts';
import { DAY_MS } from '../../packages/process/durations.ts';
import { timeText } from '../../packages/text/time-text.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { aboutNode, type Notice, notice } from './notice.ts';

/** Anybody who may write facts can make up names. */
const MOST_NODES = 50_000;

interface Heard {
  readonly cluster: string;
  readonly node: string;
  readonly partition: number;
  /** Epoch milliseconds, by the log's clock. */
  readonly atMs: number;
  readonly isToldSilent: boolean;
}

/** A node was heard. */
export type Sighting = Omit<Heard, 'isToldSilent'>;

/** Which nodes are silent that were heard, in the partitions of this replica. */
export class Silence {
  readonly #nodes = new Map<string, Heard>();

  /** Of one that was told as silent it is told that it is back. */
  heard(sighting: Sighting): readonly Notice[] {
    const { cluster, node, atMs } = sighting;
    const key = `${cluster}/${node}`;
    const before = this.#nodes.get(key);
    if (before === undefined && this.#nodes.size >= MOST_NODES) return [];
    if (before !== undefined && before.atMs >= atMs) return [];
    this.#nodes.set(key, { ...sighting, isToldSilent: false });
    if (before?.isToldSilent !== true) return [];
    const minutes = Math.round((atMs - before.atMs) / 60_000);
    return [
      notice(
        'heard-again',
        { id: `${key} ${before.atMs}`, atMs },
        {
          about: aboutNode(sighting),
          text: `it is heard again, after ${minutes} minutes`,
          facts: { lastHeard: timeText(before.atMs) },
        },
      ),
    ];
  }

  /**
   * Who fell silent. Silence shows by what is not read: so a partition counts only while all of it was read, and the log answers.
   * `nowMs` is in epoch milliseconds.
   */
  look({ joined, problem, assigned, lag }: SubscriptionState, nowMs: number): readonly Notice[] {
    const places = new Set(assigned);
    const found: Notice[] = [];
    for (const [key, heard] of this.#nodes) {
      const place = `${TOPICS.diskStats.name}/${heard.partition}`;
      const silentMs = nowMs - heard.atMs;
      if (!places.has(place) || silentMs > DAY_MS) this.#nodes.delete(key);
      else if (
        joined &&
        problem === null &&
        lag.get(place) === 0 &&
        !heard.isToldSilent &&
        silentMs > SILENT_AFTER_MS
      ) {
        this.#nodes.set(key, { ...heard, isToldSilent: true });
        found.push(silentNotice(key, heard, nowMs));
      }
    }
    return found;
  }
}

/** Its id follows from when it was heard last, so that all replicas tell the same. */
const silentNotice = (key: string, heard: Heard, nowMs: number): Notice =>
  notice(
    'silent',
    { id: `${key} ${heard.atMs}`, atMs: nowMs },
    {
      about: aboutNode(heard),
      text: `it was heard last at ${timeText(heard.atMs)}. Nothing is removed there; does the agent run, and reach the log?`,
      facts: { lastHeard: timeText(heard.atMs) },
    },
  );
