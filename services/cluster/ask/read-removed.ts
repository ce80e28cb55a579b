import { partitionOf } from '../../../packages/log/partition.ts';
import type { LogReader } from '../../../packages/log/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { ParseRecord } from '../../../packages/records/parse/parse-believed.ts';
import { type RecordedEvent, readPartition, type TimeRange } from '../../../packages/records/read-log.ts';
import { isRemoval } from '../../../schemas/events/cluster-command.ts';
import type { ClusterObject } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterRemoved } from '../../../schemas/events/cluster-removed.ts';
import {
  type ClusterObjectResults,
  type FoundLater,
  foundLater,
} from '../../../schemas/events/cluster-result.ts';
import { SUBJECTS } from '../../../schemas/events/identity.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';

/** What somebody asks for; what is `null` is not asked about. */
interface AskedRemoved {
  readonly cluster: string;
  readonly isNamed: ((object: ClusterObject) => boolean) | null;
  readonly commandId: string | null;
  readonly ownerUid: string | null;
  readonly range: TimeRange;
}

/** An object as it was saved before somebody asked for its deletion. */
export interface SavedObject {
  readonly removed: ClusterRemoved;
  readonly savedAtMs: number;
  readonly fate: Fate;
  /** A later command deleted it, and did not save it as it was then. */
  readonly isEarlierState: boolean;
}

/** What the results say of an object that was saved; `open`: nothing from which either follows. */
type Fate = 'went' | 'stayed' | 'open';

export interface ReadRemoved {
  /** In the order of the log; of each object as it was saved last. */
  readonly saved: readonly SavedObject[];
  /** What went, and was not saved before. */
  readonly unsaved: readonly ClusterObject[];
  /** Records that are none, or are not believed. */
  readonly unreadable: number;
}

/**
 * What is held in memory of what one question is answered with.
 * @limit Objects of one `fleetgc undo`.
 */
const MAX_OBJECTS = 10_000;
const MAX_MANIFEST_CHARACTERS = 128 * 1024 * 1024;

/** What was saved of the objects of one cluster. Throws `USAGE` where it is more than can be brought back at once. */
export async function readRemoved(
  log: LogReader,
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
  readonly #objects = new Map<string, SavedObject>();
  readonly #unsaved = new Map<string, { readonly object: ClusterObject; readonly commandId: string }>();
  #characters = 0;

  constructor(asked: AskedRemoved, parse: ParseRecord) {
    this.#asked = asked;
    this.#parse = parse;
  }

  take({ topicId, record }: RecordedEvent): void {
    if (topicId === 'clusterRemoved') {
      const parsed = this.#parse('clusterRemoved', record);
      if (parsed.ok) this.#saved(parsed.event, record.timestampMs);
      else this.#unreadable++;
      return;
    }
    const parsed = this.#parse('clusterResults', record);
    if (!parsed.ok) this.#unreadable++;
    else if (parsed.event.type === 'fleetgc.cluster.object-results') this.#told(parsed.event);
  }

  #saved(removed: ClusterRemoved, savedAtMs: number): void {
    const { object, commandId, owners } = removed;
    if (!this.#isAsked(object, commandId, owners)) return;
    this.#characters += charactersOf(removed) - charactersOf(this.#objects.get(object.uid)?.removed);
    // What is saved again takes the place of the newer one.
    this.#objects.delete(object.uid);
    // Brokers' clocks differ, so the result may come before it.
    const fate = this.#unsaved.get(object.uid)?.commandId === commandId ? 'went' : 'open';
    this.#unsaved.delete(object.uid);
    this.#objects.set(object.uid, { removed, savedAtMs, fate, isEarlierState: false });
    if (this.#objects.size > MAX_OBJECTS || this.#characters > MAX_MANIFEST_CHARACTERS) throw tooMany();
  }

  #told({ commandId, objects }: ClusterObjectResults): void {
    for (const told of objects) {
      if (!isRemoval(told)) continue;
      const { object, owners } = told;
      const saved = this.#objects.get(object.uid);
      if (saved?.removed.commandId === commandId)
        this.#objects.set(object.uid, { ...saved, fate: fateBy(told) });
      else if (saved !== undefined) this.#toldByAnother(saved, told);
      else if (hasGone(told) && this.#unsaved.size < MAX_OBJECTS && this.#isAsked(object, commandId, owners))
        this.#unsaved.set(object.uid, { object, commandId });
    }
  }

  /** Nobody may have told what came of the command for which it was saved, as where its answer was lost. */
  #toldByAnother(saved: SavedObject, told: Told): void {
    if (saved.fate === 'went') return;
    const { uid } = told.object;
    if (told.result.outcome === 'not-found') this.#objects.set(uid, { ...saved, fate: 'went' });
    else if (hasGone(told) && this.#asked.commandId === null)
      this.#objects.set(uid, { ...saved, fate: 'went', isEarlierState: true });
  }

  end(): ReadRemoved {
    return {
      saved: [...this.#objects.values()],
      unsaved: [...this.#unsaved.values()].map(({ object }) => object),
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

type Told = ClusterObjectResults['objects'][number];

const hasGone = ({ result: { outcome } }: Told): boolean => outcome === 'removed' || outcome === 'accepted';

/** What is refused after an attempt before, or for a later command, may have gone by an attempt of which no answer came. */
function fateBy({ result, attempts }: Told): Fate {
  const found = foundLater(result);
  if (found !== null) return FATE_OF_UNREPORTED[found];
  if (result.outcome === 'failed') return 'open';
  if (result.outcome !== 'refused') return 'went';
  return result.reason === 'superseded' || attempts > 1 ? 'open' : 'stayed';
}

const FATE_OF_UNREPORTED: Readonly<Record<FoundLater, Fate>> = {
  gone: 'went',
  changed: 'open',
  unchanged: 'stayed',
  unreadable: 'open',
};

const charactersOf = (removed: ClusterRemoved | undefined): number =>
  removed?.saved.as === 'manifest' ? removed.saved.manifest.length : 0;

const tooMany = (): FleetGcError =>
  new FleetGcError(
    'USAGE',
    `that is more than ${MAX_OBJECTS} objects, or more than ${MAX_MANIFEST_CHARACTERS / 1024 / 1024} million characters: name an object, a command, an owner, or a later time with --since`,
  );
