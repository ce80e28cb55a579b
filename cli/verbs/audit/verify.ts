import { availableParallelism } from 'node:os';
import { z } from 'zod';
import type { ArchiveLog } from '../../../packages/archive/read-archive.ts';
import { findDecider } from '../../../packages/audit/deciders/deciders.ts';
import { inventoryTimes } from '../../../packages/audit/events/reading.ts';
import { readPoliciesInForce } from '../../../packages/audit/policies/policies-in-force.ts';
import { readPolicyHistory } from '../../../packages/audit/policies/policy-history.ts';
import {
  comparedFromMs,
  keepsAsDeclared,
  openDecisionHeads,
} from '../../../packages/audit/verify/decision-heads.ts';
import { type Found, mergeFound } from '../../../packages/audit/verify/findings.ts';
import { verifyHeads } from '../../../packages/audit/verify/heads.ts';
import { startVerifyThreads, verifyLog } from '../../../packages/audit/verify/log.ts';
import { createVerifier } from '../../../packages/audit/verify/partition.ts';
import { verifySignatures } from '../../../packages/audit/verify/signatures.ts';
import type { EventLog, LogReader } from '../../../packages/log/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { FilePath, Switch, WholeNumber, withMeta } from '../../../packages/process/options/options.ts';
import type { RecordedLog, TimeRange } from '../../../packages/records/read-log.ts';
import type { FactsTrust } from '../../../packages/records/trust/process-trust.ts';
import { readTrustRoots } from '../../../packages/records/trust/roots-file.ts';
import { counted } from '../../../packages/text/counted.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import { openAuditLog } from '../../framework/audit-log.ts';
import { formatResult, partedOutputOptions } from '../../framework/output.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb, type VerbContext } from '../../framework/verb.ts';
import { type AuditLogOptions, auditLogOptions, threadSource } from '../../options/archive-options.ts';
import { rangeOptions, timeRange } from '../../options/time-options.ts';
import { keptText, readingProgress } from '../../views/audit-text.ts';
import {
  uncheckedText,
  unverifiedText,
  type Verification,
  verificationLines,
  verificationNdjson,
} from '../../views/verification.ts';

/** Unless more are asked for: each holds about eighty megabytes. */
const MOST_THREADS = 2;
const Threads = WholeNumber.refine((count) => count >= 1 && count <= 32, { error: 'must be from 1 to 32' });

export const verb = defineVerb({
  help: [
    "Each recorded decision is made again, by the decider of its own version and under its own policies, and compared byte for byte. Then the chain is followed both ways: each command was decided, each result was commanded, each command was answered. Times are the event log's own; the position of a record stands for the time at which it was written.",
    'Exit codes: 0 all is verified, 1 something deviates, 2 wrong options, 3 nothing is wrong, but not all could be verified (it says why).',
  ],
  examples: [
    'fleetgc audit verify --from 24h',
    'fleetgc audit verify --from 2026-01-31 --to 2026-02-01 -o ndjson',
    'fleetgc audit verify --from gc.node.decisions/3@1042',
  ],
  options: z.object({
    ...rangeOptions,
    trustRoots: withMeta(FilePath.optional(), {
      description:
        'File of the roots: checks also who signed each order, command and policy. Without it signatures are not looked at.',
    }),
    trustFacts: withMeta(z.enum(['required', 'warn', 'off']).prefault('off'), {
      description:
        'With --trust-roots: checks also who signed what nodes reported, which reads all of it once more. required: what its node did not sign deviates; warn: it is counted.',
    }),
    headsOf: withMeta(z.enum(['kafka', 'embedded']).optional(), {
      commandLineOnly: true,
      description:
        'With --log archive and --trust-roots: the event log of the archive. Its heads show whether the end of the archive was cut off.',
    }),
    requireHeads: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description:
        'With --trust-roots: it is a deviation if no head names a decision that is older than twenty minutes, or a line of an archive.',
    }),
    threads: withMeta(
      Threads.prefault(() => String(Math.min(availableParallelism(), MOST_THREADS))),
      {
        commandLineOnly: true,
        description: 'So many partitions are verified at a time, each on a processor of its own.',
      },
    ),
    ...partedOutputOptions('a finding'),
    ...auditLogOptions,
  }),
  checkFlags: ({ log, trustRoots, headsOf, requireHeads }, { trustFacts }) => {
    if (trustFacts !== undefined && trustRoots === undefined)
      throw new FleetGcError('USAGE', '--trust-facts needs --trust-roots, which say whose keys count');
    if (trustRoots === undefined && (headsOf !== undefined || requireHeads))
      throw new FleetGcError('USAGE', '--heads-of and --require-heads need --trust-roots');
    if (headsOf !== undefined && log !== 'archive')
      throw new FleetGcError('USAGE', '--heads-of is for --log archive');
  },
  run: async (
    { from, to, trustRoots, trustFacts, headsOf, requireHeads, threads, output, ...options },
    context,
  ) => {
    const { logger, progress, signal } = context;
    const nowMs = Date.now();
    const roots = rootsIn(trustRoots);
    await using log = await openAuditLog(options, context);
    const unfinished =
      'passBegunMs' in log && log.passBegunMs !== null ? unfinishedText(log.passBegunMs) : null;
    if (unfinished !== null) logger.warn(unfinished);
    const range = await timeRange({ from, to }, { log, nowMs, signal });
    const deletes = options.log !== 'archive';
    const heads = roots && {
      roots,
      keepsAsDeclared: await isKept(options.log, log),
      areRequired: requireHeads,
    };
    const headed = heads && openDecisionHeads(log, { ...heads, range, nowMs });
    const policies = await readPolicyHistory(log, signal);
    const task = { source: threadSource(options), range, nowMs, heads };
    await using others = startVerifyThreads(threads - 1, task);
    const inForce = await readPoliciesInForce(log, { nowMs, deletes, written: policies }, signal);
    const here = createVerifier({ log, policies, inForce, findDecider, range, nowMs, deletes, headed });
    const verifiers = [here, ...others.verifiers];
    const onProgress = readingProgress(progress);
    const again = await verifyLog({ policies, verifiers, onProgress }, signal);
    await using living = await openLiving(headsOf, options, context);
    const signed = { log, living, roots, range, nowMs, facts: trustFacts, areHeadsRequired: requireHeads };
    const verification = await withSignatures(again, signed, signal);
    const kept =
      verification.counts.records === 0 && !isWhole(range)
        ? keptText(await inventoryTimes(log, nowMs, signal))
        : '';
    const lines = verificationLines(verification);
    const text =
      output === 'ndjson'
        ? verificationNdjson(verification)
        : formatResult(output, { value: verification, lines });
    if (output !== 'table' || lines.length > 0) await context.write(text);
    requireVerified(verification, { unfinished, kept });
  },
});

const rootsIn = (path: string | undefined): TrustRoots | null =>
  path === undefined ? null : readTrustRoots(path);

/** The embedded log deletes for space, too. */
const isKept = async (kind: AuditLogOptions['log'], log: RecordedLog | EventLog): Promise<boolean> =>
  kind === 'kafka' && 'checkTopics' in log && (await keepsAsDeclared(log));

const openLiving = async (
  log: 'kafka' | 'embedded' | undefined,
  options: AuditLogOptions,
  context: VerbContext,
): Promise<EventLog | null> =>
  log === undefined ? null : await openTaskEventLog({ options: { ...options, log }, context });

interface Signed {
  readonly log: RecordedLog | ArchiveLog;
  /** The event log whose heads count for an archive too. */
  readonly living: LogReader | null;
  readonly areHeadsRequired: boolean;
  /** `null`: signatures are not looked at. */
  readonly roots: TrustRoots | null;
  readonly range: TimeRange;
  readonly nowMs: number;
  readonly facts: FactsTrust;
}

async function withSignatures(
  found: Found,
  { log, living, roots, range, nowMs, facts, areHeadsRequired }: Signed,
  signal: AbortSignal,
): Promise<Verification> {
  if (roots === null)
    return { range, ...found, signedBy: null, unprovedFacts: null, beforeSignatures: null, heads: null };
  const signatures = await verifySignatures(log, { roots, range, facts }, signal);
  const lines = 'lines' in log ? log.lines : null;
  const asked = { areRequired: areHeadsRequired, comparedFromMs: comparedFromMs(range, nowMs, lines) };
  const needs = { log, lines, living, roots, ...asked };
  const { found: ofHeads, heads } = await verifyHeads(needs, signal);
  return {
    range,
    // What was cut off explains much of the rest.
    ...mergeFound([ofHeads, found, signatures.found]),
    signedBy: signatures.signedBy,
    unprovedFacts: facts === 'warn' ? signatures.unprovedFacts : null,
    beforeSignatures: signatures.beforeSignatures,
    heads,
  };
}

const unfinishedText = (begunMs: number): string =>
  `an archiver is at work, or was stopped in the middle of a pass that began ${timeText(begunMs)}: what it copied last may lack its causes, and then deviates. Verify again after its next pass`;

interface Asides {
  readonly unfinished: string | null;
  /** Where nothing was read: when there is something to read. */
  readonly kept: string;
}

/**
 * `unfinished` says that the archive may lack what lies before its newest records: who finds nothing wrong in half of it has not
 * verified it, and who finds something cannot tell it from what is still to come. Throws `AUDIT_DEVIATION` or `AUDIT_INCOMPLETE`.
 */
function requireVerified(verification: Verification, { unfinished, kept }: Asides): void {
  const { deviations, unverified, counts } = verification;
  if (deviations.total > 0)
    throw new FleetGcError(
      'AUDIT_DEVIATION',
      `${counted(deviations.total, 'deviation')}: what lies on the event log is not what FleetGC decided and did. ${unfinished === null ? PAUSE : `But ${unfinished}; ${IF_THEY_STAY}`}`,
    );
  if (unverified.total > 0)
    throw new FleetGcError(
      'AUDIT_INCOMPLETE',
      `nothing is wrong, but not all could be verified: ${unverifiedText(verification)}`,
    );
  if (counts.outOfRange > 0)
    throw new FleetGcError(
      'AUDIT_INCOMPLETE',
      `nothing is wrong, but not all could be verified: ${uncheckedText(counts.outOfRange)}. A later --from leaves out what lies at the beginning`,
    );
  if (unfinished !== null)
    throw new FleetGcError('AUDIT_INCOMPLETE', `nothing is wrong in what is there, but ${unfinished}`);
  if (counts.decisions === 0)
    throw new FleetGcError(
      'AUDIT_INCOMPLETE',
      `there is nothing to verify: ${nothingText(verification)}${kept}`,
    );
}

const PAUSE = 'Find out who may write to these topics, and pause removals meanwhile ("fleetgc pause")';
const IF_THEY_STAY =
  'if they are still there then, find out who may write to these topics, and pause removals meanwhile ("fleetgc pause")';

const isWhole = ({ fromMs, toMs }: TimeRange): boolean => fromMs === null && toMs === null;

const nothingText = ({ counts, range }: Verification): string => {
  const where = isWhole(range) ? 'on the event log' : 'in that time';
  return counts.records === 0
    ? `no record of any node or cluster lies ${where}`
    : `of ${counted(counts.records, 'record')} ${where} none is a decision`;
};
