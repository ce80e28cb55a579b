import { CLUSTER_SILENT_AFTER_MS } from '../../packages/fleet-watch/cluster-watch.ts';
import { SILENT_AFTER_MS } from '../../packages/fleet-watch/node-track.ts';
import type { SubscriptionState } from '../../packages/log/port.ts';
import { DAY_MS, MINUTE_MS } from '../../packages/process/durations.ts';
import { timeText } from '../../packages/text/time-text.ts';
import { TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import type { NoticeKind } from '../../schemas/notices/notice.ts';
import { type Notice, notice, subjectOf } from './notice.ts';

/** What differs by who can fall silent. */
interface SilenceRow {
  readonly silent: NoticeKind;
  readonly again: NoticeKind;
  readonly afterMs: number;
  /** Anybody who may write facts can make up names. */
  readonly mostNames: number;
  readonly look: string;
}

/** By the topic on which they tell of themselves, again and again. */
const SILENCES = {
  diskStats: {
    silent: 'silent',
    again: 'heard-again',
    afterMs: SILENT_AFTER_MS,
    mostNames: 50_000,
    look: 'Nothing is removed there; does the agent run, and reach the log?',
  },
  clusterCensus: {
    silent: 'cluster-silent',
    again: 'cluster-heard-again',
    afterMs: CLUSTER_SILENT_AFTER_MS,
    mostNames: 10_000,
    look: 'Nothing new is known of its objects; does fleetgc cluster agent run, and reach the log?',
  },
} as const satisfies Partial<Readonly<Record<TopicId, SilenceRow>>>;

export type SilenceTopic = keyof typeof SILENCES;

interface Heard {
  readonly cluster: string;
  /** `null`: it is the cluster that tells. */
  readonly node: string | null;
  readonly partition: number;
  /** Epoch milliseconds, by the log's clock. */
  readonly atMs: number;
  readonly isToldSilent: boolean;
}

/** A node or a cluster was heard. */
export type Sighting = Omit<Heard, 'isToldSilent'>;

/** Who is silent that was heard, in the partitions of this replica. */
export class Silence {
  readonly #row: SilenceRow;
  readonly #topic: SilenceTopic;
  readonly #known = new Map<string, Heard>();
  #unwatched = 0;

  constructor(topic: SilenceTopic) {
    this.#topic = topic;
    this.#row = SILENCES[topic];
  }

  /** Of one that was told as silent it is told that it is back. */
  heard(sighting: Sighting): readonly Notice[] {
    const { cluster, node, atMs } = sighting;
    const key = subjectOf({ cluster, node }) ?? '';
    const before = this.#known.get(key);
    if (before === undefined && this.#known.size >= this.#row.mostNames) {
      this.#unwatched += 1;
      return [];
    }
    if (before !== undefined && before.atMs >= atMs) return [];
    this.#known.set(key, { ...sighting, isToldSilent: false });
    if (before?.isToldSilent !== true) return [];
    const minutes = Math.round((atMs - before.atMs) / MINUTE_MS);
    return [
      notice(
        this.#row.again,
        { id: `${key} ${before.atMs}`, atMs },
        {
          about: { cluster, node },
          text: `it is heard again, after ${minutes} minutes`,
          facts: { lastHeard: timeText(before.atMs) },
        },
      ),
    ];
  }

  /** Reports since this was asked last of those for whom there is no room: no notice is sent when they fall silent. */
  takeUnwatched(): number {
    const unwatched = this.#unwatched;
    this.#unwatched = 0;
    return unwatched;
  }

  /**
   * Who fell silent. Silence shows by what is not read: so a partition counts only while all of it was read, and the log answers.
   * `nowMs` is in epoch milliseconds.
   */
  look({ joined, problem, assigned, lag }: SubscriptionState, nowMs: number): readonly Notice[] {
    const places = new Set(assigned);
    const found: Notice[] = [];
    for (const [key, heard] of this.#known) {
      const place = `${TOPICS[this.#topic].name}/${heard.partition}`;
      const silentMs = nowMs - heard.atMs;
      if (!places.has(place) || silentMs > DAY_MS) this.#known.delete(key);
      else if (
        joined &&
        problem === null &&
        lag.get(place) === 0 &&
        !heard.isToldSilent &&
        silentMs > this.#row.afterMs
      ) {
        this.#known.set(key, { ...heard, isToldSilent: true });
        found.push(this.#silentNotice(key, heard, nowMs));
      }
    }
    return found;
  }

  /** Its id follows from when it was heard last, so that all replicas tell the same. */
  #silentNotice(key: string, { cluster, node, atMs }: Heard, nowMs: number): Notice {
    const { silent, look } = this.#row;
    return notice(
      silent,
      { id: `${key} ${atMs}`, atMs: nowMs },
      {
        about: { cluster, node },
        text: `it was heard last at ${timeText(atMs)}. ${look}`,
        facts: { lastHeard: timeText(atMs) },
      },
    );
  }
}
