import type { DeadLetterCause } from '../../schemas/events/dead-letter.ts';
import { sha256Hex } from '../canonical/ids.ts';

/** With which reason an executor refuses what is no command. */
export const REJECTION_REASONS = {
  'unknown-version': 'unsupported-version',
  'key-mismatch': 'malformed',
  unsigned: 'not-trusted',
  'bad-signature': 'not-trusted',
  'untrusted-key': 'not-trusted',
  'not-json': 'malformed',
  'wrong-schema': 'malformed',
  'unknown-type': 'malformed',
  'header-mismatch': 'malformed',
  'too-large': 'malformed',
  'handler-failed': 'malformed',
  'process-died': 'malformed',
  'unreadable-batch': 'malformed',
} as const satisfies Readonly<Record<DeadLetterCause, string>>;

/** Of a command that names no id of its own: it follows from the bytes, so a repetition has the same. */
export const unreadableCommandId = (value: Buffer | null): string =>
  `unreadable-${sha256Hex(value ?? '').slice(0, 32)}`;
