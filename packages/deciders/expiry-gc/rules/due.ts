import type {
  CertificateRequestFacts,
  ExpiryCandidate,
  ExpiryFacts,
  JobFacts,
} from '../../../../schemas/events/expiry.ts';
import type { Collector } from '../../../../schemas/policy/cluster-policy.ts';

export type DueRule = 'K4' | 'L2' | 'L3' | 'L4' | 'L5' | 'L6' | 'L7' | 'L9';

/** From when on the time of an object is over, and by which rule. */
export interface Due {
  readonly rule: DueRule;
  /** By the API server's clock. */
  readonly atMs: number;
}

export type Profile = 'fleetgc' | 'kubernetes';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** How long a request that was answered stays (cluster L2, L3, L4). */
const ANSWERED_FOR_MS = HOUR_MS;
/** How long one stays that nobody answers, or for which no certificate comes (cluster L5, L7). */
const OPEN_FOR_MS = 24 * HOUR_MS;
/** How long a request of a pod stays, in whatever state (cluster L9). */
const OF_POD_FOR_MS = 15 * MINUTE_MS;
/** Ages of certificate requests have to be greater than their limit (cluster L1). */
const GREATER_MS = 1;

type Timed = Pick<ExpiryCandidate, 'facts' | 'createdAtMs'>;

/** The first that comes; `null` for an object that nothing says to delete. */
export function dueOf(timed: Timed, profile: Profile): Due | null {
  let first: Due | null = null;
  for (const due of duesOf(timed, profile)) if (first === null || due.atMs < first.atMs) first = due;
  return first;
}

function duesOf({ facts, createdAtMs }: Timed, profile: Profile): readonly Due[] {
  switch (facts.of) {
    case 'Job':
      return ofJob(facts);
    case 'CertificateSigningRequest':
      return [...ofConditions(facts, profile), ...whileOpen(facts, createdAtMs)];
    case 'Pod':
    case 'object':
      return [];
    case 'PodCertificateRequest':
      return createdAtMs === null ? [] : [{ rule: 'L9', atMs: createdAtMs + OF_POD_FOR_MS }];
  }
}

/** Exactly at its end a Job is past it (cluster K4). */
function ofJob({ ttlSecondsAfterFinished, finished }: JobFacts): readonly Due[] {
  const finishedAtMs = finished?.atMs ?? null;
  if (ttlSecondsAfterFinished === null || finishedAtMs === null) return [];
  return [{ rule: 'K4', atMs: finishedAtMs + ttlSecondsAfterFinished * 1_000 }];
}

const ANSWERS: Readonly<Record<string, DueRule>> = { Denied: 'L3', Failed: 'L4' };

function ofConditions(facts: CertificateRequestFacts, profile: Profile): readonly Due[] {
  return facts.conditions.flatMap(({ type, updatedAtMs }) => {
    if (type === 'Approved') return [...ofApproval(facts, updatedAtMs, profile)];
    const rule = Object.hasOwn(ANSWERS, type) ? ANSWERS[type] : undefined;
    return rule === undefined || updatedAtMs === null ? [] : [after(rule, updatedAtMs, ANSWERED_FOR_MS)];
  });
}

function* ofApproval(
  { certificate }: CertificateRequestFacts,
  updatedAtMs: number | null,
  profile: Profile,
): Iterable<Due> {
  if (certificate.is === 'there') yield after('L6', certificate.notAfterMs, 0);
  if (updatedAtMs === null) return;
  if (certificate.is !== 'missing') yield after('L2', updatedAtMs, ANSWERED_FOR_MS);
  else if (profile === 'fleetgc') yield after('L7', updatedAtMs, OPEN_FOR_MS);
}

const whileOpen = ({ conditions }: CertificateRequestFacts, createdAtMs: number | null): readonly Due[] =>
  conditions.length > 0 || createdAtMs === null ? [] : [after('L5', createdAtMs, OPEN_FOR_MS)];

const after = (rule: DueRule, sinceMs: number, forMs: number): Due => ({
  rule,
  atMs: sinceMs + forMs + GREATER_MS,
});

export type ExpiryCollector = Extract<
  Collector,
  | 'ttl-after-finished-controller'
  | 'certificatesigningrequest-cleaner-controller'
  | 'podcertificaterequest-cleaner-controller'
>;

/** What differs by what the facts are of. */
interface FactsRow {
  /** The kind whose objects have such facts. */
  readonly kind: string;
  /** By which rule an object stays that nothing says to delete. */
  readonly stays: 'K1' | 'L1' | 'L9';
  readonly propagation: 'Background' | 'Foreground';
  /** Whose work it is where FleetGC does not do it. */
  readonly collector: ExpiryCollector;
}

type CollectedFacts = Exclude<ExpiryFacts, { of: 'Pod' | 'object' }>;

/** Whether a collector of the control plane deletes objects with such facts. */
export const isCollected = (facts: ExpiryFacts): facts is CollectedFacts => Object.hasOwn(EXPIRING, facts.of);

/** The one table of facts about time. */
export const EXPIRING: Readonly<Record<CollectedFacts['of'], FactsRow>> = {
  Job: {
    kind: 'batch/Job',
    stays: 'K1',
    propagation: 'Foreground',
    collector: 'ttl-after-finished-controller',
  },
  CertificateSigningRequest: {
    kind: 'certificates.k8s.io/CertificateSigningRequest',
    stays: 'L1',
    propagation: 'Background',
    collector: 'certificatesigningrequest-cleaner-controller',
  },
  PodCertificateRequest: {
    kind: 'certificates.k8s.io/PodCertificateRequest',
    stays: 'L9',
    propagation: 'Background',
    collector: 'podcertificaterequest-cleaner-controller',
  },
};
