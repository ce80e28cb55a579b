import type { KeyRole } from '../../schemas/keys/key-statement.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { placeText } from '../audit/events/log-position.ts';
import type { Judgement } from '../audit/signed-events.ts';
import { FleetGcError } from '../process/errors.ts';
import { keyIdOf } from '../records/trust/key-pair.ts';
import type { CertifiedKey, KeyRing } from '../records/trust/key-ring.ts';
import { counted } from '../text/counted.ts';
import { printableLine } from '../text/printable.ts';
import { timeText } from '../text/time-text.ts';
import type { Column } from './document.ts';
import { tableOf } from './text.ts';

/** A key as `keys list` tells of it. */
interface KeyValue {
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
  return tableOf(keys, [
    ['Key', 'text', ({ keyId }) => keyId],
    ['Name', 'name', ({ name }) => name],
    ['Role', 'text', ({ role }) => role],
    ['Clusters', 'text', ({ clusters }) => namesText(clusters)],
    ['Nodes', 'text', ({ nodes }) => namesText(nodes)],
    ['State', 'text', ({ state }) => state],
    ['Until', 'text', ({ notAfter }) => notAfter ?? 'the file of roots changes'],
    ...(isWide ? WIDE_COLUMNS : []),
  ]);
}

const WIDE_COLUMNS: readonly Column<KeyValue, string, string>[] = [
  ['Certified by', 'text', ({ certifiedBy }) => certifiedBy ?? 'the file of roots'],
  ['Untrusted from', 'text', ({ revocation }) => revocation?.untrustedFrom ?? '-'],
  ['Revoked because', 'text', ({ revocation }) => revocation?.reason ?? '-'],
];

/** A key may be for a thousand nodes; `wide` and `json` have them all. */
const MOST_NAMES = 3;

function firstNamesText(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  return `${allNamesText(names.slice(0, MOST_NAMES))}${more > 0 ? `,… (${more} more)` : ''}`;
}

const allNamesText = (names: readonly string[]): string => names.join(',') || 'all';

/** What `keys verify` says of one line. */
export type JudgedEvent = Omit<Judgement, 'verdict'> & {
  readonly line: number;
  readonly verdict: Judgement['verdict'] | 'unreadable';
  /** Where it lay, as it says; `null` where the line is no event. */
  readonly place: { readonly topic: string; readonly partition: number; readonly offset: string } | null;
  readonly key: string | null;
};

const VERDICT_WIDTH = 16;

export function judgedEventLine({ line, verdict, place, key, signedBy, message }: JudgedEvent): string {
  const about = place === null ? `line ${line}` : `${placeText(place)} (${key ?? 'no key'})`;
  const signer =
    signedBy === null
      ? ''
      : `, by ${signedBy.keyId}${signedBy.name === null ? '' : ` (${signedBy.name})`} as ${signedBy.role}`;
  return printableLine(
    `${verdict.padEnd(VERDICT_WIDTH)}${about}${signer}${message === null ? '' : `: ${message}`}`,
  );
}

/** `unproved`: nothing is wrong, and nothing in the event proves that all is right. */
const WEIGHT: Readonly<Record<JudgedEvent['verdict'], 'good' | 'unproved' | 'wrong'>> = {
  good: 'good',
  'good-then': 'unproved',
  'nobody-signs': 'unproved',
  unsigned: 'wrong',
  malformed: 'wrong',
  changed: 'wrong',
  stranger: 'wrong',
  revoked: 'wrong',
  expired: 'wrong',
  'not-allowed': 'wrong',
  'keys-unreadable': 'wrong',
  'no-statement': 'wrong',
  'no-event': 'wrong',
  unreadable: 'wrong',
};

/** How many events there were of which kind. */
export class EventCounts {
  readonly #counts = { good: 0, unproved: 0, wrong: 0 };

  count({ verdict }: Pick<JudgedEvent, 'verdict'>): void {
    this.#counts[WEIGHT[verdict]] += 1;
  }

  /** Throws `KEY_PROBLEM` or `AUDIT_INCOMPLETE`. */
  requireGood(): void {
    const { good, unproved, wrong } = this.#counts;
    const all = good + unproved + wrong;
    if (wrong > 0)
      throw new FleetGcError(
        'KEY_PROBLEM',
        `of ${counted(all, 'event')} ${wrong} ${wrong === 1 ? 'is' : 'are'} not what a key of this fleet may have signed`,
      );
    if (all === 0) throw new FleetGcError('AUDIT_INCOMPLETE', 'there was no event to verify');
    if (unproved > 0)
      throw new FleetGcError(
        'AUDIT_INCOMPLETE',
        `nothing is wrong, but ${unproved} of ${counted(all, 'event')} ${unproved === 1 ? 'is' : 'are'} not proved by a key that is good now: "fleetgc audit verify" proves more, where the event log or its archive is`,
      );
  }
}
