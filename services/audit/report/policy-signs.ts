import type { EventLog, LogRecord } from '../../../packages/event-log/port.ts';
import { parseRecord } from '../../../packages/pipeline/parse/parse-record.ts';
import type { TimeRange } from '../../../packages/pipeline/read-log.ts';
import { MINUTE_MS } from '../../../packages/process/durations.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import {
  isPauseKey,
  type PauseRecord,
  type PolicyRecord,
  type PolicySet,
  pauseKey,
} from '../../../schemas/policy/policy.ts';
import type { Sign } from './standing.ts';

/** Signs of what stood in `gc.policies`, by record key. */
export interface PolicySigns {
  readonly policies: ReadonlyMap<string, readonly Sign<PolicyRecord>[]>;
  readonly pauses: ReadonlyMap<string, readonly Sign<PauseRecord>[]>;
}

/** Notes under which sets of policies was decided when, to the minute. */
export function createSetSightings() {
  const byMinute = new Map<number, Map<string, number>>();
  return {
    decided: (setHash: string, atMs: number): void => {
      const minute = Math.floor(atMs / MINUTE_MS);
      const sets = byMinute.get(minute) ?? new Map<string, number>();
      byMinute.set(minute, sets.set(setHash, Math.min(sets.get(setHash) ?? atMs, atMs)));
    },
    /** The sets of each minute, with the time of the first decision under each. */
    minutes: (): readonly ReadonlyMap<string, number>[] => [...byMinute.values()],
  };
}

export type SetSightings = ReturnType<typeof createSetSightings>;

/** What the records of `gc.policies` say, of all time up to the end of the range: what stood before it may stand in it. */
export async function recordSigns(
  log: Pick<EventLog, 'read'>,
  { toMs }: TimeRange,
  signal: AbortSignal,
): Promise<PolicySigns & { readonly unreadable: number }> {
  const policies = createSigns<PolicyRecord>();
  const pauses = createSigns<PauseRecord>();
  let unreadable = 0;
  const deleted = (key: string, atMs: number): void =>
    (isPauseKey(key) ? pauses : policies).add(key, { atMs, state: null, exact: true });
  const written = (record: LogRecord, key: string): void => {
    const parsed = parseRecord('policies', record);
    const at = { atMs: record.timestampMs, exact: true };
    if (!parsed.ok) unreadable++;
    else if (parsed.event.type === 'fleetgc.pause') pauses.add(key, { ...at, state: parsed.event });
    else policies.add(key, { ...at, state: parsed.event });
  };
  const take = (record: LogRecord, key: string): void => {
    if (record.value === null) deleted(key, record.timestampMs);
    else written(record, key);
  };
  const request = { topic: TOPICS.policies.name, from: 'earliest', to: 'end' } as const;
  for await (const event of log.read(request, signal))
    if (event.kind === 'record' && (toMs === null || event.record.timestampMs < toMs))
      take(event.record, event.record.key ?? '');
  return { policies: policies.byKey, pauses: pauses.byKey, unreadable };
}

/** What decisions say of the same keys, and of those of which no record is there any more. */
export function withSightings(
  records: PolicySigns,
  sightings: SetSightings,
  policySetOf: (hash: string) => PolicySet | null,
): PolicySigns {
  const minutes = sightings
    .minutes()
    .map((sets) => knownSets(sets, policySetOf))
    .filter(({ length }) => length > 0);
  return {
    policies: extended(records.policies, minutes, ({ policies }) =>
      policies.map((record) => [record.policy.name, record]),
    ),
    pauses: extended(records.pauses, minutes, ({ pauses }) =>
      pauses.map((pause) => [pauseKey(pause.selector), pause]),
    ),
  };
}

/** A set that was decided under, and when first in its minute. */
interface Sighting {
  readonly atMs: number;
  readonly set: PolicySet;
}

function knownSets(
  sets: ReadonlyMap<string, number>,
  policySetOf: (hash: string) => PolicySet | null,
): readonly Sighting[] {
  return [...sets]
    .flatMap(([hash, atMs]) => {
      const set = policySetOf(hash);
      return set === null ? [] : [{ set, atMs }];
    })
    .toSorted((a, b) => b.atMs - a.atMs);
}

/** Within a minute what one decider still knows, or knows already, stands. */
function extended<State>(
  records: ReadonlyMap<string, readonly Sign<State>[]>,
  minutes: readonly (readonly Sighting[])[],
  entriesOf: (set: PolicySet) => readonly (readonly [key: string, State])[],
): ReadonlyMap<string, readonly Sign<State>[]> {
  const seen = minutes.map((sightings) => ({
    atMs: Math.min(...sightings.map(({ atMs }) => atMs)),
    stood: new Map(
      sightings.flatMap(({ atMs, set }) =>
        entriesOf(set).map(([key, state]): [string, Sign<State>] => [key, { atMs, state, exact: false }]),
      ),
    ),
  }));
  const keys = new Set([...records.keys(), ...seen.flatMap(({ stood }) => [...stood.keys()])]);
  return new Map(
    [...keys].map((key) => [
      key,
      [
        ...(records.get(key) ?? []),
        ...seen.map(({ atMs, stood }) => stood.get(key) ?? { atMs, state: null, exact: false }),
      ],
    ]),
  );
}

function createSigns<State>() {
  const byKey = new Map<string, readonly Sign<State>[]>();
  return {
    byKey,
    add: (key: string, sign: Sign<State>): void => {
      byKey.set(key, [...(byKey.get(key) ?? []), sign]);
    },
  };
}
