import { keyIdOf } from '../../../packages/records/trust/key-pair.ts';
import type { CertifiedKey, KeyRing } from '../../../packages/records/trust/key-ring.ts';
import { printableLine } from '../../../packages/text/printable.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import type { KeyRole } from '../../../schemas/keys/key-statement.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import { tableLines } from '../../framework/output.ts';

/** A key as `keys list` tells of it. */
export interface KeyValue {
  readonly keyId: string;
  readonly name: string;
  readonly role: KeyRole;
  readonly clusters: readonly string[];
  /** Without any: all of these clusters. */
  readonly nodes: readonly string[];
  readonly state: 'valid' | 'expired' | 'revoked';
  /** `null`: until the file of roots changes. */
  readonly notAfter: string | null;
  /** `null`: it stands in the file of roots. */
  readonly certifiedBy: string | null;
  readonly revocation: { readonly reason: string; readonly untrustedFrom: string } | null;
}

/** Roots of the file first, then what they vouch for. */
export function keyValues(ring: KeyRing, { roots }: TrustRoots, nowMs: number): readonly KeyValue[] {
  const fileRoots = roots.map(({ name, publicKey }): KeyValue => {
    const keyId = keyIdOf(publicKey);
    return {
      keyId,
      name,
      role: 'root',
      clusters: [],
      nodes: [],
      state: ring.isRevoked(keyId) ? 'revoked' : 'valid',
      notAfter: null,
      certifiedBy: null,
      revocation: null,
    };
  });
  return [...fileRoots, ...ring.keys().map((key) => keyValue(key, nowMs))];
}

function keyValue(key: CertifiedKey, nowMs: number): KeyValue {
  const { keyId, name, role, clusters, nodes, notAfterMs, certifiedBy, revocation } = key;
  return {
    keyId,
    name,
    role,
    clusters,
    nodes,
    state: stateOf(key, nowMs),
    notAfter: timeText(notAfterMs),
    certifiedBy,
    revocation: revocation && {
      reason: revocation.reason,
      untrustedFrom: timeText(revocation.untrustedFromMs),
    },
  };
}

function stateOf({ revocation, notAfterMs }: CertifiedKey, nowMs: number): KeyValue['state'] {
  if (revocation !== null) return 'revoked';
  return nowMs < notAfterMs ? 'valid' : 'expired';
}

export function keyLines(keys: readonly KeyValue[], isWide: boolean): readonly string[] {
  const namesText = isWide ? allNamesText : firstNamesText;
  return tableLines(
    ['KEY', 'NAME', 'ROLE', 'CLUSTERS', 'NODES', 'STATE', 'UNTIL', ...(isWide ? WIDE_COLUMNS : [])],
    keys.map((key) => [
      key.keyId,
      printableLine(key.name),
      key.role,
      namesText(key.clusters),
      namesText(key.nodes),
      key.state,
      key.notAfter ?? 'the file of roots changes',
      ...(isWide ? wideCells(key) : []),
    ]),
  );
}

const WIDE_COLUMNS = ['CERTIFIED BY', 'UNTRUSTED FROM', 'REVOKED BECAUSE'];

const wideCells = ({ certifiedBy, revocation }: KeyValue): readonly string[] => [
  certifiedBy ?? 'the file of roots',
  revocation?.untrustedFrom ?? '-',
  printableLine(revocation?.reason ?? '-'),
];

/** A key may be for a thousand nodes; `wide` and `json` have them all. */
const MOST_NAMES = 3;

function firstNamesText(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  return `${allNamesText(names.slice(0, MOST_NAMES))}${more > 0 ? `,… (${more} more)` : ''}`;
}

const allNamesText = (names: readonly string[]): string => names.join(',') || 'all';
