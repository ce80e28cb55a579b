import type { KeyRole } from '../../../schemas/keys/key-statement.ts';
import { timeText } from '../../text/time-text.ts';
import type { SigningKey } from './key-pair.ts';
import { type CertifiedKey, type KeyRing, keyText } from './key-ring.ts';
import type { StoredKeys } from './read-keys.ts';

interface Checking {
  /** A private key that is at hand, and what it is to sign; `null`: whatever its certificate says. */
  readonly own: { readonly key: SigningKey; readonly role: KeyRole | null } | null;
  readonly nowMs: number;
  /** What ends within this time is a problem. */
  readonly soonMs: number;
}

/** Without such a key a fleet that requires signatures does nothing, or nobody can change what it does. */
const NEEDED = ['operator', 'decider'] as const satisfies readonly KeyRole[];

/** What somebody should do something about, a sentence each. */
export function keyProblems({ ring, unreadable }: StoredKeys, checking: Checking): readonly string[] {
  return [
    ...(checking.own === null ? [] : ownKeyProblems(ring, checking.own, checking.nowMs)),
    ...NEEDED.filter(
      (role) => !ring.keys().some((key) => key.role === role && isGood(key, checking.nowMs)),
    ).map((role) => `no key of role ${role} is valid now`),
    ...ring.keys().flatMap((key) => endProblem(ring, key, checking) ?? []),
    ...unreadable.map(
      ({ offset, key, why }) =>
        `gc.keys, offset ${offset} (key ${JSON.stringify(key)}) is no statement of a root of this fleet: ${why}`,
    ),
  ];
}

const isGood = ({ revocation, notAfterMs }: CertifiedKey, nowMs: number): boolean =>
  revocation === null && nowMs < notAfterMs;

/** A key that has ended is no problem once another of its role, for the same clusters and nodes, is valid. */
function endProblem(ring: KeyRing, key: CertifiedKey, { nowMs, soonMs }: Checking): string | null {
  if (key.revocation !== null || key.notAfterMs - nowMs > soonMs) return null;
  const named = `${keyText(key)}, role ${key.role},`;
  if (nowMs < key.notAfterMs)
    return `${named} expires at ${timeText(key.notAfterMs)}; certify it again before then`;
  if (ring.keys().some((other) => isGood(other, nowMs) && reachOf(other) === reachOf(key))) return null;
  return `${named} expired at ${timeText(key.notAfterMs)}: its signatures no longer count. Certify it again, or revoke it if it is not in use`;
}

/** What a key is for: its role, and where it counts. */
const reachOf = ({ role, clusters, nodes }: CertifiedKey): string =>
  JSON.stringify([role, [...clusters].toSorted(), [...nodes].toSorted()]);

/** Why nobody would believe what this key signs. */
export function ownKeyProblems(
  ring: KeyRing,
  { key, role }: NonNullable<Checking['own']>,
  nowMs: number,
): readonly string[] {
  if (ring.isRevoked(key.keyId)) return [`${key.keyId} was revoked: nobody believes what it signs`];
  const certified = ring.find(key.keyId);
  if (certified === undefined)
    return ring.isRoot(key.keyId) && (role === null || role === 'root')
      ? []
      : [`no root vouches for ${key.keyId}: nobody believes what it signs`];
  if (nowMs >= certified.notAfterMs)
    return [`${keyText(certified)} expired at ${timeText(certified.notAfterMs)}`];
  return role === null || role === certified.role
    ? []
    : [`${keyText(certified)} may sign as ${certified.role}, not as ${role}`];
}
