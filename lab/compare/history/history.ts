import type { Propagation } from '../../../packages/kube-api/write.ts';
import type { KindId } from './kinds.ts';

/** The two namespaces of a run. */
export type Place = 'home' | 'away';

/** What a history makes, known by its number: names and uids differ from run to run. */
export interface PlayedObject {
  readonly id: number;
  readonly kind: KindId;
  /** Of a namespaced object. */
  readonly place: Place;
  readonly finalizers: readonly string[];
  readonly references: readonly PlayedReference[];
  /** What it is asked to be, beside what every object of its kind is. */
  readonly spec?: PlayedSpec;
  /** What is told of it right after it was made. */
  readonly status?: PlayedStatus;
}

export const PHASES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown', ''] as const;
export type Phase = (typeof PHASES)[number];

export type PlayedSpec =
  /** Bound to the node of that number, whether it is there or not. */
  | { readonly of: 'pod'; readonly nodeId: number }
  | { readonly of: 'node'; readonly taint: 'out-of-service' | 'other' | null }
  | { readonly of: 'job'; readonly ttlSeconds: number | null };

/** How long ago something was when it was written; less than 0 for what is still to come. */
type AgoMs = number;

export interface PlayedAnswer {
  readonly type: 'Approved' | 'Denied' | 'Failed' | 'Other';
  readonly agoMs: AgoMs;
}

export type PlayedCertificate = 'ended' | 'valid' | 'ended-first' | 'valid-first' | 'ended-with-a-note';

/** There is no scheduler, no kubelet and no other controller: what they would say is written as they write it. */
export type PlayedStatus =
  | { readonly of: 'pod'; readonly phase: Phase; readonly isEvicted: boolean }
  /** `null`: the node does not say whether it is ready. */
  | { readonly of: 'node'; readonly ready: 'True' | 'False' | 'Unknown' | null }
  /** `agoMs: null`: it has ended, and does not say when. */
  | { readonly of: 'job'; readonly ended: 'Complete' | 'Failed'; readonly agoMs: AgoMs | null }
  | {
      readonly of: 'certificateRequest';
      readonly answers: readonly PlayedAnswer[];
      readonly certificate: PlayedCertificate | null;
    };

/** A reference as it is written: what it says need not be so. */
export interface PlayedReference {
  readonly apiVersion: string;
  readonly kind: string;
  /** Whose name it has; `null` for nobody's. */
  readonly nameOf: number | null;
  /** Whose uid; `null` for nobody's. */
  readonly uidOf: number | null;
  /** Not there at all where undefined. */
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** `null`: nobody says how. */
export type AskedPropagation = Propagation | null;

export type Step =
  | { readonly do: 'create'; readonly object: PlayedObject }
  | { readonly do: 'delete'; readonly id: number; readonly propagation: AskedPropagation }
  | { readonly do: 'refer'; readonly id: number; readonly references: readonly PlayedReference[] }
  /** Takes the finalizer away that nobody's collector knows. */
  | { readonly do: 'release'; readonly id: number }
  /** Somebody tells how it is. */
  | { readonly do: 'tell'; readonly id: number; readonly status: PlayedStatus }
  /** Somebody asks it to be otherwise. */
  | { readonly do: 'ask'; readonly id: number; readonly spec: PlayedSpec }
  /** It goes, and another one of its name comes at once. */
  | { readonly do: 'replace'; readonly id: number }
  /** What is made after it is of another second than what was made before. */
  | { readonly do: 'pass-a-second' };

/** Steps of a burst are played at once, and the next burst when nothing is left to do for a collector. */
export interface History {
  readonly seed: number;
  /** What lies there before anything happens: it is played before the first burst, and nobody waits for a collector in between. */
  readonly before?: readonly Step[];
  /** Its steps are played one after the other. */
  readonly isOrdered?: boolean;
  /** Deletions of one burst may touch each other: what comes of it can depend on who comes first. */
  readonly isWild: boolean;
  readonly bursts: readonly (readonly Step[])[];
  /** These objects are meant to end differently, by this rule. */
  readonly listed?: { readonly rule: string; readonly ids: readonly number[] };
  /** These may, and no others. */
  readonly known?: { readonly rule: string; readonly why: string; readonly ids: readonly number[] };
}

export const FOREIGN_FINALIZER = 'compare.fleetgc.io/held';

/** Everything that is done in a history, in its order. */
export const stepsOf = ({ before = [], bursts }: History): readonly Step[] => [...before, ...bursts.flat()];

/** Everything that a history makes, with all references that each object ever has. */
export function everWritten(history: History): ReadonlyMap<number, readonly PlayedReference[]> {
  const written = new Map<number, readonly PlayedReference[]>();
  for (const step of stepsOf(history)) {
    if (step.do === 'create') written.set(step.object.id, step.object.references);
    if (step.do === 'refer') written.set(step.id, [...(written.get(step.id) ?? []), ...step.references]);
  }
  return written;
}
