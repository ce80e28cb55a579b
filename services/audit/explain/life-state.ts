import type { Instant } from '../../../schemas/events/time.ts';
import type { ObjectState } from '../../../schemas/reports/explanation.ts';
import type { ExplainedObject, ExplainedUser } from '../../../schemas/reports/timeline.ts';
import type { SeenObject } from './seen-objects.ts';
import { createFolding, type Folding, type Noted, type Timeline } from './timeline.ts';

/** What an inventory said of the object, for the decisions about it. */
export interface Sighting {
  readonly position: number;
  readonly users: readonly ExplainedUser[];
}

interface SentCommand {
  readonly noted: Noted;
  readonly expectedBytes: number | null;
}

/** What is known so far of one object of one node. Those of `object-life.ts` change it. */
export interface ObjectLife {
  readonly timeline: Timeline;
  readonly folding: Folding;
  object: ExplainedObject;
  state: ObjectState;
  nodeInstance: string;
  /** The last look that showed it; `null` before the first. */
  seen: SeenObject | null;
  firstSeenMs: number;
  lastSeenMs: number;
  readonly sightings: Map<string, Sighting>;
  readonly commands: Map<string, SentCommand>;
  readonly openCommands: Set<string>;
  /** Of the result that says so. */
  removedAt: Instant | null;
  gone: Noted | null;
}

export const newLife = (timeline: Timeline, object: ExplainedObject, atMs: number): ObjectLife => ({
  timeline,
  folding: createFolding(timeline),
  object,
  state: 'there',
  nodeInstance: '',
  seen: null,
  firstSeenMs: atMs,
  lastSeenMs: atMs,
  sightings: new Map(),
  commands: new Map(),
  openCommands: new Set(),
  removedAt: null,
  gone: null,
});
