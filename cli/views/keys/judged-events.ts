import { placeText } from '../../../packages/audit/events/log-position.ts';
import type { Judgement } from '../../../packages/audit/signed-events.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { counted } from '../../../packages/text/counted.ts';
import { printableLine } from '../../../packages/text/printable.ts';

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
