import { partitionOf } from '../../packages/event-log/partition.ts';
import type { EventLog } from '../../packages/event-log/port.ts';
import type { ParseRecord } from '../../packages/pipeline/parse/parse-believed.ts';
import { type RecordedEvent, readPartition, type TimeRange } from '../../packages/pipeline/read-log.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { isRemoval } from '../../schemas/events/cluster-command.ts';
import type { ClusterObject } from '../../schemas/events/cluster-objects.ts';
import type { ClusterRemoved } from '../../schemas/events/cluster-removed.ts';
import type { ClusterObjectOutcome, ClusterObjectResults } from '../../schemas/events/cluster-result.ts';
import { SUBJECTS } from '../../schemas/events/identity.ts';
import { TOPICS } from '../../schemas/events/topics.ts';

/** What somebody asks for; what is `null` is not asked about. */
export interface AskedRemoved {
  readonly cluster: string;
  readonly isNamed: ((object: ClusterObject) => boolean) | null;
  readonly commandId: string | null;
  readonly ownerUid: string | null;
  readonly range: TimeRange;
}

/** An object as it was kept before somebody asked for its deletion. */
export interface KeptObject {
  readonly removed: ClusterRemoved;
  readonly keptAtMs: number;
  /** What came of its deletion; `null` where nothing was told. */
  readonly outcome: ClusterObjectOutcome | null;
}

export interface ReadRemoved {
  /** In the order of the log; of each object as it was kept last. */
  readonly kept: readonly KeptObject[];
  /** What went, and was not kept before. */
  readonly unkept: readonly ClusterObject[];
  /** Records that are none, or are not believed. */
  readonly unreadable: number;
}

/** What is kept in memory of what one question is answered with. */
const MAX_OBJECTS = 10_000;
const MAX_MANIFEST_CHARACTERS = 128 * 1024 * 1024;

/** What was kept of the objects of one cluster. Throws `USAGE` where it is more than can be brought back at once. */
export async function readRemoved(
  log: Pick<EventLog, 'read'>,
  asked: AskedRemoved,
  parse: ParseRecord,
  signal: AbortSignal,
): Promise<ReadRemoved> {
  const key = SUBJECTS.cluster.keyOf(asked);
  const partition = partitionOf(TOPICS.clusterRemoved.name, key);
  const topics = ['clusterRemoved', 'clusterResults'] as const;
  const reading = new Reading(asked, parse);
  const records = readPartition(log, { topics, partition, range: asked.range }, signal);
  // Other clusters share the partition.
  for await (const event of records) if (event.record.key === key) reading.take(event);
  return reading.end();
}

class Reading {
  readonly #asked: AskedRemoved;
  readonly #parse: ParseRecord;
  #unreadable = 0;
  /** By uid. */
  readonly #objects = new Map<string, KeptObject>();
  readonly #unkept = new Map<string, ClusterObject>();
  #characters = 0;

  constructor(asked: AskedRemoved, parse: ParseRecord) {
    this.#asked = asked;
    this.#parse = parse;
  }

  take({ topicId, record }: RecordedEvent): void {
    if (topicId === 'clusterRemoved') {
      const parsed = this.#parse('clusterRemoved', record);
      if (parsed.ok) this.#kept(parsed.event, record.timestampMs);
      else this.#unreadable++;
      return;
    }
    const parsed = this.#parse('clusterResults', record);
    if (!parsed.ok) this.#unreadable++;
    else if (parsed.event.type === 'fleetgc.cluster.object-results') this.#told(parsed.event);
  }

  #kept(removed: ClusterRemoved, keptAtMs: number): void {
    const { object, commandId, owners } = removed;
    if (!this.#isAsked(object, commandId, owners)) return;
    this.#characters += charactersOf(removed) - charactersOf(this.#objects.get(object.uid)?.removed);
    // What is kept again takes the place of the newer one.
    this.#objects.delete(object.uid);
    this.#objects.set(object.uid, { removed, keptAtMs, outcome: null });
    if (this.#objects.size > MAX_OBJECTS || this.#characters > MAX_MANIFEST_CHARACTERS) throw tooMany();
  }

  #told({ commandId, objects }: ClusterObjectResults): void {
    for (const { object, owners, result, action } of objects) {
      const kept = this.#objects.get(object.uid);
      if (kept?.removed.commandId === commandId) this.#objects.set(object.uid, { ...kept, outcome: result });
      else if (
        kept === undefined &&
        isRemoval({ action }) &&
        hasGone(result) &&
        this.#unkept.size < MAX_OBJECTS &&
        this.#isAsked(object, commandId, owners)
      )
        this.#unkept.set(object.uid, object);
    }
  }

  end(): ReadRemoved {
    return {
      kept: [...this.#objects.values()],
      unkept: [...this.#unkept.values()],
      unreadable: this.#unreadable,
    };
  }

  #isAsked(object: ClusterObject, id: string, owners: readonly { readonly uid: string }[]): boolean {
    const { isNamed, commandId, ownerUid } = this.#asked;
    return (
      (isNamed === null || isNamed(object)) &&
      (commandId === null || commandId === id) &&
      (ownerUid === null || owners.some(({ uid }) => uid === ownerUid))
    );
  }
}

const hasGone = ({ outcome }: ClusterObjectOutcome): boolean =>
  outcome === 'removed' || outcome === 'accepted';

const charactersOf = (removed: ClusterRemoved | undefined): number =>
  removed?.kept.as === 'manifest' ? removed.kept.manifest.length : 0;

const tooMany = (): FleetGcError =>
  new FleetGcError(
    'USAGE',
    `that is more than ${MAX_OBJECTS} objects, or more than ${MAX_MANIFEST_CHARACTERS / 1024 / 1024} million characters: name an object, a command, an owner, or a later time with --since`,
  );
