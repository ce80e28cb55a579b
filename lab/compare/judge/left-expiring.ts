import { ENDED_CERTIFICATE, VALID_CERTIFICATE } from '../../../test/fixtures/certificate.ts';
import type { Left } from './left.ts';
import type { Times } from './says.ts';
import type { ObjectState, RunState } from './state.ts';

/** What comes so soon is waited for. */
const SOON_MS = 30_000;
const HOUR_MS = 3_600_000;

/** Jobs whose time is over, or soon will be (cluster K1, K4). */
export const leftOfJobs = (state: RunState, nowMs: number): readonly Left[] =>
  [...state.values()]
    .filter((job) => !job.isDeleting && (jobEndsAtMs(job) ?? Number.POSITIVE_INFINITY) <= nowMs + SOON_MS)
    .map(({ id }) => ({ id, what: 'is past its TTL (cluster K4)' }));

function jobEndsAtMs({ says, times }: ObjectState): number | null {
  if (says?.of !== 'job' || says.ttlSeconds === null) return null;
  const finished = times?.conditions.find(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  );
  const atMs = finished?.atMs ?? null;
  return atMs === null ? null : atMs + says.ttlSeconds * 1_000;
}

/** Certificate requests whose time is over (cluster L2, L3, L4, L6). */
export const leftOfRequests = (state: RunState, nowMs: number): readonly Left[] =>
  [...state.values()]
    .filter(({ isDeleting, times }) => !isDeleting && times !== undefined && isOver(times, nowMs))
    .map(({ id }) => ({ id, what: 'is over (cluster L)' }));

function isOver({ conditions, certificate }: Times, nowMs: number): boolean {
  const pem = Buffer.from(certificate, 'base64').toString();
  const [ended, valid] = [pem.indexOf(ENDED_CERTIFICATE), pem.indexOf(VALID_CERTIFICATE)];
  const hasEnded = ended !== -1 && (valid === -1 || ended < valid);
  return conditions.some(({ type, atMs }) => {
    const isOld = atMs !== null && nowMs - atMs > HOUR_MS;
    if (type === 'Approved') return certificate !== '' && (hasEnded || isOld);
    return (type === 'Denied' || type === 'Failed') && isOld;
  });
}
