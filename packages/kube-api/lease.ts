import { z } from 'zod';
import { FleetGcError } from '../process/errors.ts';
import type { ApiAnswer, ApiConnection } from './connection.ts';
import { type ApiObjectName, type ApiResource, namespacedPath, objectPath } from './resources.ts';
import { jsonOf, refusalText, statusOf } from './status.ts';

/** A Lease, which says who of several holds something. */
export const LEASES = {
  group: 'coordination.k8s.io',
  version: 'v1',
  resource: 'leases',
  namespaced: true,
} as const satisfies ApiResource;

/** As it was read: a write of any other state is refused by the API server. */
export interface LeaseState {
  readonly resourceVersion: string;
  /** Empty where nobody holds it. */
  readonly holder: string;
}

export type LeaseAnswer =
  | { readonly kind: 'lease'; readonly state: LeaseState }
  | { readonly kind: 'absent' }
  /** Somebody was quicker. */
  | { readonly kind: 'conflict' }
  /** `isLasting`: the same will be said again. */
  | { readonly kind: 'refused'; readonly isLasting: boolean; readonly message: string };

/** What a holder writes. */
export interface LeaseClaim {
  /** Empty to let it go. */
  readonly holder: string;
  readonly durationSeconds: number;
  /** Epoch milliseconds, for people: who waits for a Lease to end goes by a clock of its own. */
  readonly nowMs: number;
}

const Lease = z.object({
  metadata: z.object({ resourceVersion: z.string().min(1).max(128) }),
  spec: z.object({ holderIdentity: z.string().max(1_024).nullish() }).nullish(),
});

/** Rejects with what the connection rejects with, as do the others. */
export async function readLease(
  connection: ApiConnection,
  named: ApiObjectName,
  signal: AbortSignal,
): Promise<LeaseAnswer> {
  return leaseIn(await connection.call({ method: 'GET', path: objectPath(LEASES, named) }, signal), named);
}

export async function createLease(
  connection: ApiConnection,
  named: ApiObjectName,
  claim: LeaseClaim,
  signal: AbortSignal,
): Promise<LeaseAnswer> {
  const { namespace, name } = named;
  const body = {
    apiVersion: `${LEASES.group}/${LEASES.version}`,
    kind: 'Lease',
    metadata: { namespace, name },
    spec: { ...specOf(claim), acquireTime: microTime(claim.nowMs) },
  };
  const path = namespacedPath(LEASES, namespace);
  const answer = await connection.call({ method: 'POST', path, body: JSON.stringify(body) }, signal);
  return leaseIn(answer, named);
}

/** Renews it, takes it over, or lets it go, in the state in which it was read and in no other. */
export async function writeLease(
  connection: ApiConnection,
  named: ApiObjectName,
  { state, claim }: { readonly state: LeaseState; readonly claim: LeaseClaim },
  signal: AbortSignal,
): Promise<LeaseAnswer> {
  const { resourceVersion, holder } = state;
  const acquireTime = holder === claim.holder ? {} : { acquireTime: microTime(claim.nowMs) };
  const body = JSON.stringify({ metadata: { resourceVersion }, spec: { ...specOf(claim), ...acquireTime } });
  const contentType = 'application/merge-patch+json';
  const path = objectPath(LEASES, named);
  return leaseIn(await connection.call({ method: 'PATCH', path, contentType, body }, signal), named);
}

const specOf = ({ holder, durationSeconds, nowMs }: LeaseClaim) => ({
  holderIdentity: holder,
  leaseDurationSeconds: durationSeconds,
  renewTime: microTime(nowMs),
});

/** The API server takes times of a Lease with six digits behind the second alone. */
const microTime = (epochMs: number): string => new Date(epochMs).toISOString().replace('Z', '000Z');

const CONFLICT = 409;
const NOT_FOUND = 404;
/** Tokens are renewed, and storms pass. */
const PASSING: ReadonlySet<number> = new Set([401, 429]);

function leaseIn(answer: ApiAnswer, { name }: ApiObjectName): LeaseAnswer {
  const { status } = answer;
  if (status === 200 || status === 201) return parsedLease(answer);
  if (status === CONFLICT) return { kind: 'conflict' };
  if (status === NOT_FOUND && statusOf(jsonOf(answer.body))?.details?.name === name)
    return { kind: 'absent' };
  const isLasting = status >= 400 && status < 500 && !PASSING.has(status);
  return { kind: 'refused', isLasting, message: refusalText(answer) };
}

function parsedLease({ body }: ApiAnswer): LeaseAnswer {
  const parsed = Lease.safeParse(jsonOf(body));
  if (!parsed.success) return { kind: 'refused', isLasting: true, message: 'the answer is no Lease' };
  const { metadata, spec } = parsed.data;
  const { resourceVersion } = metadata;
  return { kind: 'lease', state: { resourceVersion, holder: spec?.holderIdentity ?? '' } };
}

/** Who holds a Lease, and since when nobody has said so again. */
export interface LeaseTimes {
  /** Empty where nobody holds it. */
  readonly holder: string;
  /** Epoch milliseconds, by the clock of the holder; `null` where nobody ever did. */
  readonly renewedAtMs: number | null;
  readonly durationSeconds: number | null;
}

const Times = z.object({
  spec: z
    .object({
      holderIdentity: z.string().max(1_024).nullish(),
      renewTime: z.iso.datetime({ offset: true }).nullish(),
      leaseDurationSeconds: z.int().nonnegative().nullish(),
    })
    .nullish(),
});

/** For people. `null`: there is none. Throws `API_UNREACHABLE` and `API_REFUSED`. */
export async function readLeaseTimes(
  connection: ApiConnection,
  named: ApiObjectName,
  signal: AbortSignal,
): Promise<LeaseTimes | null> {
  const answer = await connection.call({ method: 'GET', path: objectPath(LEASES, named) }, signal);
  if (leaseIn(answer, named).kind === 'absent') return null;
  const times = answer.status === 200 ? Times.safeParse(jsonOf(answer.body)).data : undefined;
  if (times === undefined)
    throw new FleetGcError('API_REFUSED', `the Lease ${named.name} cannot be read: ${refusalText(answer)}`);
  const { holderIdentity, renewTime, leaseDurationSeconds } = times.spec ?? {};
  return {
    holder: holderIdentity ?? '',
    renewedAtMs: renewTime === null || renewTime === undefined ? null : Date.parse(renewTime),
    durationSeconds: leaseDurationSeconds ?? null,
  };
}
