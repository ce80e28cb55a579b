import { z } from 'zod';
import { AnyDeciderName } from './deciders.ts';
import { EventId } from './event-id.ts';
import { SUBJECTS } from './identity.ts';

/** SHA-256, in hexadecimal digits. */
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const Count = z.int().positive();

/** A statement by its key; `revoked KEY` is the revocation of a key. */
const StatementName = z.string().regex(/^(revoked )?[0-9a-f]{32}$/);

/** A pass after a long outage makes more files; then only the last ones are shown. */
export const MOST_SUMS = 50_000;

/** The archiver says at the end of each pass what the archive is. The lines of its manifest name every file with its hash. */
export const ArchiveHead = z.strictObject({
  type: z.literal('fleetgc.archive-head'),
  version: z.literal(1),
  id: EventId,
  /** The hash of the manifest's first line. */
  archive: Sha256,
  /** By the archiver's clock. */
  signedAtMs: z.int().nonnegative(),
  /** So many lines of the manifest are meant. */
  lines: Count,
  /** The hash of the last of them, and by that of all before it. */
  hash: Sha256,
  /** The beginnings of the hashes of what the last lines say each, from line `fromLine` on: they show which line was changed. */
  fromLine: z.int().nonnegative(),
  sums: z.array(z.string().regex(/^[0-9a-f]{8}$/)).max(MOST_SUMS),
});
export type ArchiveHead = z.infer<typeof ArchiveHead>;

/** Consecutive decisions of a writer in one partition: their headers say the writer's chain and their number in it. */
const DecisionRange = z.strictObject({
  partition: z
    .int()
    .nonnegative()
    .max(SUBJECTS.node.partitions - 1),
  first: z.int().nonnegative(),
  records: Count,
  /** Each record is hashed with the hash of those before it. */
  sha256: Sha256,
  /** When the log had acknowledged the first and the last of them, by the writer's clock. */
  firstAtMs: z.int().nonnegative(),
  lastAtMs: z.int().nonnegative(),
});
export type DecisionRange = z.infer<typeof DecisionRange>;

/** @limit Ranges of decisions in one signed head. More go into further heads. */
export const MOST_RANGES = 512;
/** @limit Key statements in one signed head. More go into further heads. */
export const MOST_STATEMENTS = 2_000;

/**
 * What whoever signs has read of `gc.keys` since its last head, or since it began: the highest generation of each statement. What is
 * there later with a lower one, or not at all, was taken away. An archive needs none of that: its files have the statements.
 */
const Statements = z
  .record(StatementName, z.int().nonnegative())
  .refine((statements) => Object.keys(statements).length <= MOST_STATEMENTS, {
    error: `at most ${MOST_STATEMENTS} statements can be named`,
  });

/**
 * A decision service says which decisions it has written since its last head. A number that no head names may lie on the log or not:
 * its writer was not told.
 */
export const DecisionHead = z.strictObject({
  type: z.literal('fleetgc.decision-head'),
  version: z.literal(1),
  id: EventId,
  statements: Statements,
  /** One for each life of a writer, which remembers nothing of the one before. */
  chain: z.string().regex(/^[0-9A-Za-z-]{1,64}$/),
  decider: AnyDeciderName,
  /** None where statements did not fit into the head before. */
  ranges: z.array(DecisionRange).max(MOST_RANGES),
});
export type DecisionHead = z.infer<typeof DecisionHead>;
