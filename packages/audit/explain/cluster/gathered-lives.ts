import type { ClusterInstant } from '../../../../schemas/events/cluster-objects.ts';
import type {
  ClusterCommandResult,
  ClusterObjectResults,
} from '../../../../schemas/events/cluster-result.ts';
import type { TopicId } from '../../../../schemas/events/topics.ts';
import type { ClusterTimelineEntry } from '../../../../schemas/reports/cluster-explanation.ts';
import type { LogRecord } from '../../../log/port.ts';
import type { RecordedEvent } from '../../../records/read-log.ts';
import { EventReader } from '../../events/event-reader.ts';
import { type TopicTakers, takeByTopic } from '../../events/reading.ts';
import { type AskedObject, isMeant, type NamedByUid, needleOf } from './asked-object.ts';
import {
  commandEntry,
  expiringEntry,
  type Moment,
  momentOf,
  type NamedOwner,
  ownedEntry,
  ownersOf,
  owningEntry,
  podEntry,
  type RuleWords,
  refusedEntry,
  resultEntry,
  verdictEntry,
} from './happenings.ts';

export const FACTS = ['clusterOwnership', 'clusterExpiry', 'clusterPods'] as const satisfies TopicId[];
export const ACTS = ['clusterDecisions', 'clusterCommands', 'clusterResults'] as const satisfies TopicId[];
type FactTopic = (typeof FACTS)[number];
type ActTopic = (typeof ACTS)[number];

/** What the log says of one object, as it was read. */
export interface GatheredLife {
  readonly cluster: string;
  readonly object: NamedByUid;
  readonly happened: Happening[];
}

/** `order`: brokers' clocks differ, so what follows from something is never before it. */
export interface Happening {
  readonly orderMs: number;
  readonly entry: ClusterTimelineEntry;
}

/** An object of a fact, by its position there. */
interface Position {
  readonly life: GatheredLife;
  readonly position: number;
  readonly loggedAtMs: number;
}

export interface GatheringNeeds {
  readonly asked: AskedObject;
  /** `null`: any. */
  readonly cluster: string | null;
  readonly words: RuleWords;
}

/** Names for those who asked for what was not found come from the last facts of a partition. */
const LAST_FACTS = 20;

/** Gathers what the records of one partition say of the objects that are meant: first all facts, then all that followed from them. */
export class GatheredLives {
  readonly reader = new EventReader();
  /** By cluster and uid. */
  readonly lives = new Map<string, GatheredLife>();
  readonly #needs: GatheringNeeds;
  /** By the offsets of the facts. */
  readonly #positions = new Map<string, Position[]>();
  /** Of whole commands, that are answered so. */
  readonly #commands = new Map<string, Set<GatheredLife>>();
  #lastFacts: RecordedEvent[] = [];

  readonly #factTakers: TopicTakers<FactTopic, void> = {
    clusterOwnership: (record) => this.#takeOwnership(record),
    clusterExpiry: (record) => {
      const fact = this.reader.event('clusterExpiry', record);
      fact?.candidates.forEach((candidate, position) => {
        this.#told(candidate.object, { fact, record, position }, (at) => expiringEntry(candidate, at));
      });
    },
    clusterPods: (record) => {
      const fact = this.reader.event('clusterPods', record);
      fact?.candidates.forEach((candidate, position) => {
        this.#told(candidate.object, { fact, record, position }, (at) => podEntry(candidate, at));
      });
    },
  };

  readonly #actTakers: TopicTakers<ActTopic, void> = {
    clusterDecisions: (record) => this.#takeDecision(record),
    clusterCommands: (record) => this.#takeCommand(record),
    clusterResults: (record) => this.#takeResult(record),
  };

  constructor(needs: GatheringNeeds) {
    this.#needs = needs;
  }

  takeFact(recorded: RecordedEvent): boolean {
    if (!this.#counts(recorded.record)) return false;
    this.#lastFacts = [...this.#lastFacts, recorded].slice(-LAST_FACTS);
    if (this.#speaksOf(recorded.record)) takeByTopic(this.#factTakers, recorded);
    return true;
  }

  takeAct(recorded: RecordedEvent): boolean {
    if (!this.#counts(recorded.record)) return false;
    takeByTopic(this.#actTakers, recorded);
    return true;
  }

  /** What else could have been asked for. */
  *names(): Iterable<string> {
    for (const { topicId, record } of this.#lastFacts) {
      const fact = this.reader.event(topicId, record);
      if (fact !== null && 'candidates' in fact) for (const { object } of fact.candidates) yield object.name;
    }
  }

  #counts(record: LogRecord): boolean {
    const { cluster } = this.#needs;
    if (cluster !== null && record.key !== cluster) return false;
    this.reader.count(record);
    return true;
  }

  /** An escaped letter could hide a name. */
  #speaksOf({ value }: LogRecord): boolean {
    return value === null || value.includes(needleOf(this.#needs.asked)) || value.includes('\\u');
  }

  #takeOwnership(record: LogRecord): void {
    const fact = this.reader.event('clusterOwnership', record);
    if (fact === null) return;
    const { cluster, takenAt } = fact;
    for (const { how, ...object } of fact.settled)
      if (isMeant(this.#needs.asked, object))
        note(this.#lifeOf(cluster, object), {
          what: 'settled',
          ...momentOf(record, takenAt),
          how,
          byFleetGc: false,
        });
    fact.candidates.forEach((candidate, position) => {
      this.#told(candidate.object, { fact, record, position }, (at) => ownedEntry(candidate, at));
    });
    const isMeantOwner = ({ owner }: NamedOwner): boolean => isMeant(this.#needs.asked, owner);
    const owners = Map.groupBy(
      fact.candidates.flatMap(ownersOf).filter(isMeantOwner),
      ({ owner }) => owner.uid,
    );
    for (const [first, ...others] of owners.values())
      if (first !== undefined)
        note(
          this.#lifeOf(cluster, first.owner),
          owningEntry(first.reference, others.length + 1, momentOf(record, takenAt)),
        );
  }

  #told(
    object: NamedByUid,
    { fact, record, position }: ToldIn,
    entryAt: (at: Moment) => ClusterTimelineEntry,
  ): void {
    if (!isMeant(this.#needs.asked, object)) return;
    const life = this.#lifeOf(fact.cluster, object);
    const place = placeOf(record);
    const told = { life, position, loggedAtMs: record.timestampMs };
    this.#positions.set(place, [...(this.#positions.get(place) ?? []), told]);
    if (this.reader.isNew({ id: `${fact.id} ${object.uid}` }, record))
      note(life, entryAt(momentOf(record, fact.takenAt)));
  }

  #takeDecision(record: LogRecord): void {
    if (this.#positions.size === 0) return;
    const decision = this.reader.event('clusterDecisions', record);
    if (decision === null || !this.reader.isNew(decision, record)) return;
    for (const { life, position, loggedAtMs } of this.#positions.get(placeOf(decision.input)) ?? []) {
      const verdict = decision.verdicts.find((each) => each.position === position);
      const at = momentOf(record, decision.takenAt);
      if (verdict !== undefined)
        note(life, verdictEntry(decision, verdict, { at, words: this.#needs.words }), loggedAtMs);
    }
  }

  #takeCommand(record: LogRecord): void {
    if (!this.#speaksOf(record)) return;
    const command = this.reader.event('clusterCommands', record);
    if (command === null || !this.reader.isNew(command, record)) return;
    const at = momentOf(record, command.takenAt);
    for (const item of command.items) {
      if (!isMeant(this.#needs.asked, item.object)) continue;
      const life = this.#lifeOf(command.cluster, item.object);
      note(life, commandEntry(command, item, { at, words: this.#needs.words }));
      this.#commands.set(command.id, new Set([...(this.#commands.get(command.id) ?? []), life]));
    }
  }

  #takeResult(record: LogRecord): void {
    const result = this.reader.event('clusterResults', record);
    if (result === null || !this.reader.isNew(result, record)) return;
    const at = momentOf(record, result.at);
    if (result.type === 'fleetgc.cluster.object-results') this.#takeObjectResults(result, at);
    else if (result.type === 'fleetgc.cluster.command-result') this.#takeRefusal(result, at);
  }

  #takeObjectResults({ cluster, commandId, objects }: ClusterObjectResults, at: Moment): void {
    for (const told of objects)
      if (isMeant(this.#needs.asked, told.object))
        note(this.#lifeOf(cluster, told.object), resultEntry(commandId, told, at));
  }

  #takeRefusal(result: ClusterCommandResult, at: Moment): void {
    const refused = refusedEntry(result, at);
    if (refused === null) return;
    for (const life of this.#commands.get(result.commandId) ?? []) note(life, refused);
  }

  #lifeOf(cluster: string, { group, kind, namespace, name, uid }: NamedByUid): GatheredLife {
    const key = `${cluster} ${uid}`;
    const life = this.lives.get(key) ?? {
      cluster,
      object: { group, kind, namespace, name, uid },
      happened: [],
    };
    this.lives.set(key, life);
    return life;
  }
}

interface ToldIn {
  readonly fact: { readonly id: string; readonly cluster: string; readonly takenAt: ClusterInstant };
  readonly record: LogRecord;
  readonly position: number;
}

const note = ({ happened }: GatheredLife, entry: ClusterTimelineEntry, notBeforeMs = 0): void =>
  void happened.push({ orderMs: Math.max(entry.loggedAtMs, notBeforeMs), entry });

const placeOf = ({ topic, offset }: { readonly topic: string; readonly offset: bigint | string }): string =>
  `${topic}@${offset}`;
