import fc from 'fast-check';
import { type ExpiryCandidate, type ExpiryFacts, JobState } from '../../../../../schemas/events/expiry.ts';
import { expiryCandidate, HOUR_MS, NOW_MS } from '../../../../fixtures/expiry.ts';

/** Around every limit that a rule about time has, on both sides of it. */
const ago = fc
  .tuple(
    fc.constantFrom(0, 60_000, 15 * 60_000, HOUR_MS, 24 * HOUR_MS, 30 * HOUR_MS, -HOUR_MS),
    fc.integer({ min: -2, max: 2 }),
  )
  .map(([beforeMs, byMs]) => NOW_MS - beforeMs + byMs);
const someTime = fc.option(ago, { freq: 6 });

const anyJob = fc.record({
  of: fc.constant('Job' as const),
  ttlSecondsAfterFinished: fc.option(fc.constantFrom(0, 60, 3_600, 2_147_483_647), { freq: 6 }),
  finished: fc.option(
    fc.record({ atMs: someTime, type: fc.constantFrom('Complete' as const, 'Failed' as const) }),
    { freq: 6 },
  ),
});

const anyRequest = fc.record({
  of: fc.constant('CertificateSigningRequest' as const),
  conditions: fc.array(
    fc.record({ type: fc.constantFrom('Approved', 'Denied', 'Failed', 'Else'), updatedAtMs: someTime }),
    { maxLength: 2 },
  ),
  certificate: fc.oneof(
    fc.constantFrom({ is: 'missing' as const }, { is: 'unreadable' as const }),
    fc.record({ is: fc.constant('there' as const), notAfterMs: ago }),
  ),
});

const anyPod = fc.record({
  of: fc.constant('Pod' as const),
  ended: fc.option(
    fc.record({
      state: fc.constantFrom('Succeeded' as const, 'Failed' as const, 'Evicted' as const),
      atMs: someTime,
    }),
    { freq: 6 },
  ),
});

export const AnyExpiryFacts: fc.Arbitrary<ExpiryFacts> = fc.oneof(
  anyJob,
  anyPod,
  anyRequest,
  fc.constant<ExpiryFacts>({ of: 'PodCertificateRequest' }),
  fc.constant<ExpiryFacts>({ of: 'object' }),
);

/** Everything on which a rule about time depends. */
export const AnyExpiring: fc.Arbitrary<ExpiryCandidate> = fc
  .record({
    facts: AnyExpiryFacts,
    annotations: fc.constantFrom(
      undefined,
      { 'janitor/ttl': '1h' },
      { 'fleetgc.io/ttl': '30h' },
      { 'janitor/expires': '2027-01-15' },
    ),
    labels: fc.constantFrom(undefined, { app: 'ci' }, { app: 'ci', tier: 'x' }, { app: 'web' }),
    isControlled: fc.constantFrom(undefined, undefined, true),
    controllingJob: fc.constantFrom(undefined, ...JobState.options),
    createdAtMs: someTime,
    deleting: fc.constantFrom(false, false, false, true),
    keptBy: fc.constantFrom(null, null, null, 'object' as const, 'namespace' as const),
    kind: fc.constantFrom({}, {}, {}, {}, { group: '', kind: 'Secret' }),
  })
  .map(({ facts, createdAtMs, deleting, keptBy, kind, annotations, labels, isControlled, controllingJob }) =>
    expiryCandidate({
      facts,
      ...(annotations !== undefined && { annotations }),
      ...(labels !== undefined && { labels }),
      ...(isControlled !== undefined && { isControlled }),
      ...(isControlled === true && controllingJob !== undefined && { controllingJob }),
      createdAtMs,
      object: { ...kind, keptBy, deletionTimestamp: deleting ? '2026-11-01T00:00:00Z' : null },
    }),
  );
