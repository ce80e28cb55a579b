import { type ExpiryCandidate, TimeAnnotation } from '../../../../schemas/events/expiry.ts';

type Annotated = Pick<ExpiryCandidate, 'annotations' | 'createdAtMs'>;

/** From when on the annotations of an object say that it may go, by the first that comes; `null` where none says so (cluster S8). */
export function annotatedEndMs({ annotations = {}, createdAtMs }: Annotated): number | null {
  const ends = TimeAnnotation.options.flatMap((name) => {
    const value = annotations[name];
    return value === undefined ? [] : (READERS[name](value, createdAtMs) ?? []);
  });
  return ends.length === 0 ? null : Math.min(...ends);
}

type ReadEnd = (value: string, createdAtMs: number | null) => number | null;

const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** `7d`, `36h`, `1h30m`; what is none, as `forever`, says nothing. */
const afterCreation: ReadEnd = (value, createdAtMs) => {
  if (createdAtMs === null || !/^(\d{1,6}[smhdw]){1,5}$/.test(value)) return null;
  let durationMs = 0;
  for (const [, count = '', unit = ''] of value.matchAll(/(\d+)([smhdw])/g))
    durationMs += Number(count) * (UNITS_MS[unit] ?? 0);
  return durationMs === 0 ? null : createdAtMs + durationMs;
};

/** A day begins at midnight, and all is UTC. */
const TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?Z?)?$/;

const atTime: ReadEnd = (value) => {
  if (!TIME.test(value)) return null;
  const [day = '', time = '00:00'] = value.replace(/Z$/, '').split('T');
  const atMs = Date.parse(`${day}T${time.length === 5 ? `${time}:00` : time}Z`);
  return Number.isNaN(atMs) || atMs < 0 ? null : atMs;
};

const READERS: Readonly<Record<TimeAnnotation, ReadEnd>> = {
  'fleetgc.io/ttl': afterCreation,
  'janitor/ttl': afterCreation,
  'janitor/expires': atTime,
};
