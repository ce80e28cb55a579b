import { kindName } from '../../../../schemas/events/cluster-objects.ts';
import {
  type ExpiryCandidate,
  type ExpiryFacts,
  type JobState,
  TimeAnnotation,
} from '../../../../schemas/events/expiry.ts';
import {
  FORBIDDEN_GROUPS,
  FORBIDDEN_KINDS,
  FORBIDDEN_NAMESPACES,
  OWN_RULE_DEFAULTS,
} from '../../../../schemas/policy/cluster-policy-defaults.ts';
import { endStatesOf, type ObjectState, type OwnRule } from '../../../../schemas/policy/own-rule.ts';

type Asked = Omit<ExpiryCandidate, 'isControlled' | 'controllingJob'>;

/** Rules for this kind; none where all of them go by annotations alone, which are read of every object. */
export function rulesOn(rules: readonly OwnRule[], kind: string): readonly OwnRule[] {
  const named = rules.filter(({ kinds }) => kinds.includes(kind));
  return named.some(({ labels, afterMs }) => labels !== undefined || afterMs !== undefined) ? named : [];
}

/** Labels that such rules ask for; `null` where there are none. */
export const labelsAsked = (rules: readonly OwnRule[]): ReadonlySet<string> | null =>
  rules.length === 0 ? null : new Set(rules.flatMap(({ labels = {} }) => Object.keys(labels)));

/** From when on a rule lets an object go. */
interface OwnEnd {
  readonly rule: 'S8' | 'S12';
  /** By the API server's clock; `null` where the object does not say when it was made, or when it ended (cluster S13). */
  readonly atMs: number | null;
}

/** The first rule of a policy that is for an object. */
export const ruleFor = (asked: Asked, rules: readonly OwnRule[]): OwnRule | undefined =>
  rules.find((rule) => isFor(rule, asked));

const isFor = (rule: OwnRule, asked: Asked): boolean =>
  isNamed(rule, asked) &&
  (rule.afterMs === undefined ? asked.annotations !== undefined : isOfAge(rule, asked));

/** A label that is not told is not there: it takes more than silence to select an object. */
function isNamed({ kinds, namespaces, labels = {} }: OwnRule, { object, labels: told = {} }: Asked): boolean {
  return (
    kinds.includes(kindName(object)) &&
    (namespaces.length === 0 || namespaces.includes(object.namespace)) &&
    Object.entries(labels).every(([name, value]) => Object.hasOwn(told, name) && told[name] === value)
  );
}

/** A rule by age is for all states that it names, and for no Job that says itself how long it stays (cluster S12, S14). */
function isOfAge({ states }: OwnRule, { object, facts }: Asked): boolean {
  const kind = kindName(object);
  if (endStatesOf(kind).length === 0) return states === undefined;
  if (KIND_OF_FACTS[facts.of] !== kind) return false;
  if (facts.of === 'Job' && facts.ttlSecondsAfterFinished !== null) return false;
  return states === undefined || statesOf(facts).some((state) => states.includes(state));
}

/** Of kinds whose objects end; with other facts nothing is known of their state. */
const KIND_OF_FACTS: Readonly<Partial<Record<ExpiryFacts['of'], string>>> = { Job: 'batch/Job', Pod: 'Pod' };

/** An evicted pod has failed too, as Kubernetes says it. */
function statesOf(facts: ExpiryFacts): readonly ObjectState[] {
  if (facts.of === 'Job') return facts.finished?.type === undefined ? [] : [facts.finished.type];
  if (facts.of !== 'Pod' || facts.ended === null) return [];
  const { state } = facts.ended;
  return state === 'Evicted' ? ['Failed', 'Evicted'] : [state];
}

/** From when on a rule lets an object go that it is for. */
export function ownEndOf({ afterMs, states }: OwnRule, timed: Asked): OwnEnd {
  if (afterMs === undefined) return { rule: 'S8', atMs: annotatedEndMs(timed) };
  const sinceMs = states === undefined ? timed.createdAtMs : endedAtMs(timed.facts);
  return { rule: 'S12', atMs: sinceMs === null ? null : sinceMs + afterMs };
}

function endedAtMs(facts: ExpiryFacts): number | null {
  if (facts.of === 'Job') return facts.finished?.atMs ?? null;
  return facts.of === 'Pod' ? (facts.ended?.atMs ?? null) : null;
}

/** Why no rule of a policy may delete the object, in a word; `null` where one may (cluster S9). */
export function forbiddenBecause(candidate: ExpiryCandidate): string | null {
  const { object, isControlled } = candidate;
  if (FORBIDDEN_KINDS.includes(kindName(object)) || FORBIDDEN_GROUPS.includes(object.group)) return 'kind';
  if (FORBIDDEN_NAMESPACES.test(object.namespace)) return 'namespace';
  if (isControlled !== true || isLeftBehind(candidate)) return null;
  return candidate.controllingJob === 'unfinished' ? 'unfinished-job' : 'controller';
}

/** A pod that has ended, which its controller does not need any more: a Job counts its pods until it is finished itself (cluster S15). */
const isLeftBehind = ({ object, facts, controllingJob }: ExpiryCandidate): boolean =>
  kindName(object) === 'Pod' &&
  facts.of === 'Pod' &&
  facts.ended !== null &&
  (controllingJob === undefined || controllingJob === 'finished');

export function jobStateOf(facts: ExpiryFacts | null): JobState {
  if (facts?.of !== 'Job') return 'unknown';
  return facts.finished === null ? 'unfinished' : 'finished';
}

/**
 * From so many objects on it is doubted that a rule means such a part of a kind.
 * @limit Objects from which on the share of a kind can be held (S11).
 */
const LEAST_HELD = 10;

/** How many objects of a kind are over, by their annotations or by rules. */
export interface Share {
  readonly over: number;
  readonly objects: number;
}

/** Whether a rule would take so much of a kind at once that somebody has to look at it first (cluster S11). */
export function isTooMuch(
  { heldFromPercent = OWN_RULE_DEFAULTS.heldFromPercent }: OwnRule,
  { over, objects }: Share,
): boolean {
  return over >= LEAST_HELD && over * 100 >= objects * heldFromPercent;
}

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
