import type { KeyRevocation } from '../../../schemas/keys/key-statement.ts';
import { printableLine } from '../../text/printable.ts';

export const DISTRUST_CAUSES = ['unsigned', 'bad-signature', 'untrusted-key'] as const;

/** What may be wrong, and the cause that a dead letter tells of it. `changed`: the signature is not over these bytes. */
const CAUSE_OF = {
  unsigned: 'unsigned',
  malformed: 'bad-signature',
  changed: 'bad-signature',
  stranger: 'untrusted-key',
  revoked: 'untrusted-key',
  expired: 'untrusted-key',
  'not-allowed': 'untrusted-key',
  'keys-unreadable': 'untrusted-key',
} as const satisfies Readonly<Record<string, (typeof DISTRUST_CAUSES)[number]>>;
export type DistrustReason = keyof typeof CAUSE_OF;

/** Why a message is not believed. The causes are those of dead letters. */
export interface Distrust {
  readonly cause: (typeof DISTRUST_CAUSES)[number];
  readonly reason: DistrustReason;
  /** A sentence for people. */
  readonly message: string;
}

export const distrustOf = (reason: DistrustReason, message: string): Distrust => ({
  cause: CAUSE_OF[reason],
  reason,
  message,
});

/** What stands against a key, to be read on after "its key …". */
export interface Objection {
  readonly reason: DistrustReason;
  readonly text: string;
}

export const revokedObjection = ({ reason }: KeyRevocation): Objection => ({
  reason: 'revoked',
  text: `was revoked (${printableLine(reason)})`,
});

export const notAllowed = (text: string | null): Objection | null =>
  text === null ? null : { reason: 'not-allowed', text };
