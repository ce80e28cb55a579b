import type { ExpiryCandidate, ExpiryFacts } from '../../../../../schemas/events/expiry.ts';

const HOUR_MS = 3_600_000;

/** What upstream's controllers delete at this time, written down apart from the product's rules: `null` for what stays. */
export function upstreamDeletes(
  { object, createdAtMs, facts }: Pick<ExpiryCandidate, 'object' | 'createdAtMs' | 'facts'>,
  nowMs: number,
): 'Background' | 'Foreground' | null {
  if (object.deletionTimestamp !== null) return null;
  switch (facts.of) {
    case 'Job':
      return isPastTtl(facts, nowMs) ? 'Foreground' : null;
    case 'CertificateSigningRequest':
      return isDone(facts, createdAtMs, nowMs) ? 'Background' : null;
    case 'Pod':
    case 'object':
      return null;
    case 'PodCertificateRequest':
      return createdAtMs !== null && nowMs >= createdAtMs + HOUR_MS / 4 ? 'Background' : null;
  }
}

function isDone(
  { conditions, certificate }: Extract<ExpiryFacts, { of: 'CertificateSigningRequest' }>,
  createdAtMs: number | null,
  nowMs: number,
): boolean {
  const isOver = (sinceMs: number | null, forMs: number): boolean =>
    sinceMs !== null && nowMs - sinceMs > forMs;
  if (conditions.length === 0) return isOver(createdAtMs, 24 * HOUR_MS);
  const isIssued = certificate.is !== 'missing';
  const hasEnded = certificate.is === 'there' && nowMs > certificate.notAfterMs;
  const after: Readonly<Record<string, (updatedAtMs: number | null) => boolean>> = {
    Approved: (updatedAtMs) => isIssued && (hasEnded || isOver(updatedAtMs, HOUR_MS)),
    Denied: (updatedAtMs) => isOver(updatedAtMs, HOUR_MS),
    Failed: (updatedAtMs) => isOver(updatedAtMs, HOUR_MS),
  };
  return conditions.some(({ type, updatedAtMs }) => after[type]?.(updatedAtMs) === true);
}

function isPastTtl(
  { ttlSecondsAfterFinished, finished }: Extract<ExpiryFacts, { of: 'Job' }>,
  nowMs: number,
): boolean {
  const finishedAtMs = finished?.atMs ?? null;
  if (ttlSecondsAfterFinished === null || finishedAtMs === null) return false;
  return finishedAtMs + ttlSecondsAfterFinished * 1_000 - nowMs <= 0;
}
