import type { ReferenceState } from '../../../../schemas/events/ownership.ts';
import type {
  ClusterEntryOf,
  ClusterObjectState,
  ClusterTimelineEntry,
  ObjectLife,
} from '../../../../schemas/reports/cluster-explanation.ts';
import { leastOf, mostOf } from '../../../process/least-and-most.ts';
import { DeletionsAround } from './deletions-around.ts';
import type { GatheredLife } from './gathered-lives.ts';

/** The life of an object in its order: what is equal told once, what was answered, and how it stands. */
export function toldLife({ object: { uid }, happened }: GatheredLife): ObjectLife {
  const inOrder = happened.toSorted((a, b) => a.orderMs - b.orderMs).map(({ entry }) => entry);
  const life = new LifeTeller(inOrder);
  for (const [place, entry] of inOrder.entries()) life.tell(entry, place);
  const times = inOrder.map(({ loggedAtMs }) => loggedAtMs);
  return {
    uid,
    state: life.state,
    firstMs: leastOf(times),
    lastMs: mostOf(times),
    timeline: life.timeline,
  };
}

/** What dependents say of an owner that is not there any more. */
const IS_AWAY: ReadonlySet<string> = new Set<ReferenceState>(['gone', 'unseen']);

class LifeTeller {
  state: ClusterObjectState = 'there';
  readonly timeline: ClusterTimelineEntry[] = [];
  readonly #deletions: DeletionsAround;
  /** Behind the one by which it was gone before. */
  #begin = 0;
  readonly #answered: ReadonlySet<string>;
  /** What was told last of each cause for telling it. */
  readonly #told = new Map<string, string>();
  /** Where entries are that equal ones may be told with, by their keys. */
  #open = new Map<string, number>();
  /** When a result said that it is gone, by the API server's clock. */
  #goneAtMs: number | null = null;

  constructor(all: readonly ClusterTimelineEntry[]) {
    this.#deletions = new DeletionsAround(all);
    this.#answered = new Set(all.flatMap((entry) => (entry.what === 'result' ? [entry.commandId] : [])));
  }

  tell(entry: ClusterTimelineEntry, place: number): void {
    switch (entry.what) {
      case 'candidate':
        this.#tellCandidate(entry);
        break;
      case 'owner':
        if (IS_AWAY.has(entry.state)) this.state = this.#isDeletedByFleetGc() ? 'removed' : 'gone';
        this.#fold(entry);
        break;
      case 'verdict':
        this.#fold(entry);
        break;
      case 'command':
        this.#note({ ...entry, answered: this.#answered.has(entry.commandId) });
        break;
      case 'result':
        this.#tellResult(entry);
        break;
      case 'settled':
        this.#tellSettled(entry, place);
        break;
    }
  }

  #isDeletedByFleetGc(): boolean {
    return this.state === 'removed' || this.state === 'being-deleted';
  }

  #note(entry: ClusterTimelineEntry): void {
    this.#open = new Map();
    this.timeline.push(entry);
  }

  /** What was taken before a result said that it is gone is old. */
  #tellCandidate(entry: ClusterEntryOf<'candidate'>): void {
    const isOld = this.#goneAtMs !== null && (entry.clusterTimeMs ?? 0) <= this.#goneAtMs;
    if (isOld) return;
    const isAgain = this.state !== 'there' && this.state !== 'being-deleted';
    const content = contentOf(entry);
    const before = this.#told.get(entry.as);
    this.#told.set(entry.as, content);
    if (isAgain) {
      this.state = 'there';
      this.#goneAtMs = null;
    }
    if (!isAgain && before === content) return;
    this.#note({ ...entry, how: isAgain ? 'again' : before === undefined ? 'first' : 'changed' });
  }

  #tellResult(entry: ClusterEntryOf<'result'>): void {
    const { outcome } = entry;
    if (outcome === 'removed') this.state = 'removed';
    if (outcome === 'accepted') this.state = 'being-deleted';
    if (outcome === 'not-found') this.state = this.#isDeletedByFleetGc() ? 'removed' : 'gone';
    if (outcome === 'removed' || outcome === 'not-found') this.#goneAtMs = entry.clusterTimeMs;
    this.#note(entry);
  }

  #tellSettled(entry: ClusterEntryOf<'settled'>, place: number): void {
    if (entry.how === 'no-candidate') {
      this.state = 'settled';
      this.#note(entry);
      return;
    }
    const byFleetGc = this.#deletions.has(entry, { place, begin: this.#begin });
    this.#begin = place + 1;
    this.state = byFleetGc ? 'removed' : 'gone';
    this.#note({ ...entry, byFleetGc });
  }

  #fold(entry: ClusterEntryOf<'owner' | 'verdict'>): void {
    const key = foldingKey(entry);
    const place = this.#open.get(streamOf(entry));
    const earlier = place === undefined ? undefined : this.timeline[place];
    if (place !== undefined && earlier !== undefined && 'times' in earlier && foldingKey(earlier) === key) {
      this.timeline[place] = repeatedBy(earlier, entry);
      return;
    }
    this.#open.set(streamOf(entry), this.timeline.push(entry) - 1);
  }
}

type Repeated = ClusterEntryOf<'owner' | 'verdict'>;

/** The last one's own fields hold, but the first one's times. */
function repeatedBy(earlier: Repeated, later: Repeated): Repeated {
  const { loggedAtMs, clusterTimeMs, record, times } = earlier;
  const last = { loggedAtMs: later.loggedAtMs, clusterTimeMs: later.clusterTimeMs };
  return { ...later, loggedAtMs, clusterTimeMs, record, times: times + 1, last };
}

/** Deciders take turns, so equal verdicts of one need not follow each other. */
const streamOf = (entry: Repeated): string => (entry.what === 'verdict' ? entry.decider : 'owner');

function foldingKey(entry: Repeated): string {
  if (entry.what === 'owner') return JSON.stringify([entry.state, entry.gone]);
  const { outcome, action, rule, facts, policy } = entry;
  return JSON.stringify([outcome, action, rule, policy?.hash, comparable(facts)]);
}

/** Ages and counts differ every time; what is said in words or yes and no does not. */
const comparable = (facts: Facts): readonly unknown[] =>
  Object.entries(facts).filter(([, value]) => typeof value !== 'number');
type Facts = ClusterEntryOf<'verdict'>['facts'];

const contentOf = (entry: ClusterEntryOf<'candidate'>): string => {
  const { isBeingDeleted, finalizers, keptBy, owners, facts } = entry;
  return JSON.stringify([isBeingDeleted, finalizers, keptBy, owners, comparable(facts)]);
};
