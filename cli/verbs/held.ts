import type { Logger } from 'pino';
import { z } from 'zod';
import type { Withdrawing } from '../../packages/actions/approve.ts';
import { heldLines } from '../../packages/documents/held.ts';
import type { LogReader } from '../../packages/log/port.ts';
import {
  readPoliciesBy,
  readStoredPolicies,
  type StoredPolicies,
} from '../../packages/policy/stored-policies.ts';
import { warnOfUnreadable } from '../../packages/policy/unsigned-records.ts';
import { deleteKeys, type PolicyWriter } from '../../packages/policy/write-policies.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { Switch, Text, withMeta } from '../../packages/process/options/options.ts';
import { approvalText, approvedText } from '../../packages/read-model/holds.ts';
import type { Doing } from '../../packages/records/doing.ts';
import { type ParseRecord, parseBelieved } from '../../packages/records/parse/parse-believed.ts';
import { parseRecord } from '../../packages/records/parse/parse-record.ts';
import { readKeys } from '../../packages/records/trust/key-source.ts';
import { RequiredTrust } from '../../packages/records/trust/trust.ts';
import { counted } from '../../packages/text/counted.ts';
import { printableLine } from '../../packages/text/printable.ts';
import { ClusterName } from '../../schemas/events/identity.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { durationText } from '../../schemas/policy/value-text.ts';
import type { Creatable } from '../../services/cluster/ask/undo.ts';
import { openAuditLog } from '../framework/audit-log.ts';
import { type ManifestFormat, manifestOptions, outputOptions, printResult } from '../framework/output.ts';
import { openPolicyWriter } from '../framework/policy-writer.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb, type VerbContext } from '../framework/verb.ts';
import { auditLogOptions } from '../options/archive-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { approvalOptions, doing, NOT_PROVED, onEventLog } from '../options/steering-options.ts';
import { LongDuration, pointOption, timeRange } from '../options/time-options.ts';
import {
  readingTrustOptions,
  readOperatorTrust,
  readReadingRoots,
  writingOptions,
} from '../options/trust-options.ts';
import { manifestDocument, manifestText, undoLines } from '../run/manifests.ts';

export const heldVerb = defineVerb({
  help: [
    'Lists what is held in clusters, by graph-gc, pod-gc and expiry-gc, and by executors that found what no decision knew: what would go, and waits for somebody who approves it. With each it prints the command that does, for as many hours as the policy needs to let all of it go, or says that no approval ends it. It reads the last day, or as far back as --since says; what was held before is shown as held since then.',
    'Nothing of it comes from decisions, which no key signs: each fact of a cluster is decided again here, by the policies that are active now. With --trust-roots, facts without a signature of the cluster count for nothing where others have one, and the list says where none has.',
    'Approvals that are in force are listed too.',
  ],
  examples: [
    'fleetgc held',
    'fleetgc held --cluster prod --log embedded --log-path /var/lib/fleetgc/cluster-prod.db',
    'fleetgc held --output json',
  ],
  options: z.object({
    cluster: withMeta(ClusterName.optional(), {
      placeholder: 'NAME',
      description: 'Only this cluster.',
    }),
    since: withMeta(LongDuration.prefault('1d'), {
      commandLineOnly: true,
      description: 'How far back facts are read: 90m, 24h or 7d.',
    }),
    ...readingTrustOptions,
    ...outputOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ cluster, since, trustRoots, output, ...options }, context) => {
    const { readHeldList } = await import('../../packages/read-model/read-holds.ts');
    const roots = readReadingRoots({ trustRoots });
    const { signal, logger } = context;
    await using log = await openTaskEventLog({ options, context });
    const nowMs = Date.now();
    const asked = {
      cluster: cluster ?? null,
      fromMs: nowMs - since,
      roots,
      nowMs,
      onLog: (command: string) => onEventLog(command, options),
    };
    const { stored, held } = await readHeldList(log, asked, signal);
    warnOfUnreadable(stored, logger);
    const { clusters } = held;
    if (output === 'table' && clusters.every(({ holds }) => holds.length === 0))
      logger.info(
        clusters.length === 0 ? 'Nothing was told of such a cluster in that time.' : 'Nothing is held.',
      );
    const lines = output === 'table' ? heldLines(held) : [];
    if (output !== 'table' || lines.length > 0) await printResult(context, output, { value: held, lines });
  },
});

export const approveVerb = defineVerb({
  help: [
    'Approves what is held in a cluster, and nothing that nobody looked at: it lets go no more objects than are held for this reason now, and nothing that is held for another one. "fleetgc held" lists what is held, each with its command.',
    'An approval is in force for an hour, or as long as --for says, by the clock of the API server. It is signed as policies are.',
    'Exit codes: 0 it is approved or withdrawn, 1 no such thing is held or approved, or more of it or another thing than was shown is held, 2 wrong options.',
  ],
  examples: [
    'fleetgc approve prod 4f6a0c0e-8f0a-4d0c-9d6e-0f4b6d1f1c11 --objects 1200',
    'fleetgc approve prod Namespace --as held-kind --for 2h --reason "the tenants moved"',
    'fleetgc approve prod old-jobs/batch/Job --as rule --objects 1200 --for 12h',
    'fleetgc approve prod Pod --as pods-of-missing-nodes --objects 6000',
    'fleetgc approve prod Namespace --withdraw',
  ],
  options: z.object({
    ...approvalOptions,
    dryRun: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Say what would be approved, and approve nothing.',
    }),
    withdraw: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'End approvals of this name: what they let go and is still there is held again.',
    }),
    ...writingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async (
    { cluster, what: name, as, objects, shown, for: forMs, reason, by, dryRun, withdraw, ...options },
    context,
  ) => {
    const { approvalOfHeld, approve } = await import('../../packages/actions/approve.ts');
    const { signal, logger, print } = context;
    const trust = await readOperatorTrust(options, signal);
    await using log = await openTaskEventLog({ options, context });
    const writer = await openPolicyWriter(log, trust, context, options);
    const stored = await readStoredPolicies(log, signal);
    const request = { cluster, name, as: as ?? null, objects: objects ?? null, shown: shown ?? null };
    const own = doing({ by, reason }, context);
    if (withdraw) return await endApprovals({ request, stored, writer, dryRun, own, print, logger });
    const roots = trust.kind === 'required' ? trust.roots : null;
    const policies = (await readPoliciesBy(roots, log, signal)).sets.cluster;
    const approving = { request, policies, roots, forMs, doing: own, nowMs: Date.now() };
    const { approval, proof } = await approvalOfHeld(log, approving, signal);
    if (proof !== 'signed') logger.warn(NOT_PROVED[proof]);
    if (dryRun) return print(printableLine(`would be approved: ${approvalText(approval)}`));
    await approve(writer, stored, approval);
    print(printableLine(`approved: ${approvalText(approval)}`));
    logger.info(
      `It is in force for ${durationText(forMs)}. What goes, goes as soon as its agent has read this.`,
    );
  },
});

interface Ending {
  readonly request: Withdrawing;
  readonly stored: StoredPolicies;
  readonly writer: PolicyWriter;
  readonly dryRun: boolean;
  readonly own: Doing;
  readonly print: (line: string) => void;
  readonly logger: Logger;
}

/** Throws `NOT_FOUND` where nothing of that name is approved. */
async function endApprovals({ request, stored, writer, dryRun, own, print, logger }: Ending): Promise<void> {
  const { approvalsNamed } = await import('../../packages/actions/approve.ts');
  const found = approvalsNamed(stored, request);
  const verb = dryRun ? 'would be withdrawn' : 'withdrawn';
  if (!dryRun) await deleteKeys(writer, [...found.keys()], own);
  for (const { what } of found.values())
    print(printableLine(`${verb}: ${approvedText(what)} in cluster ${request.cluster}`));
  if (!dryRun) logger.info('What is being removed at this moment still goes.');
}

export const undoVerb = defineVerb({
  help: [
    'Prints what creates objects again that FleetGC deleted in a cluster, where the policy said undo: manifest. It asks the event log, changes nothing, and does not look into the cluster: look at what it prints, and pipe it into kubectl create -f -. Owners come before their dependents, namespaces and definitions first.',
    'It prints no owner references, no status, and nothing that the API server sets itself. What it leaves out, and why, it says on stderr. Secrets are never saved. What is saved stays on the event log for 14 days, and in archives for as long as they are there.',
    'Exit codes: 0 manifests were printed, 1 there are none or the event log could not be read, 2 wrong options.',
  ],
  examples: [
    'fleetgc undo prod ConfigMap/shop/web --kafka-brokers kafka:9092 | kubectl create -f -',
    'fleetgc undo prod --command cluster-command-4f1c2a --output json',
    'fleetgc undo prod --owner 4f6a0c0e-8f0a-4d0c-9d6e-0f4b6d1f1c11',
    'fleetgc undo prod --since 2h --log embedded --log-path /var/lib/fleetgc/cluster-prod.db',
  ],
  options: z.object({
    cluster: withMeta(ClusterName, {
      positional: true,
      placeholder: 'CLUSTER',
      description: 'The cluster that the objects were in.',
    }),
    object: withMeta(Text.optional(), {
      positional: true,
      placeholder: 'KIND/NAME',
      description: 'Only this object: [GROUP/]KIND/[NAMESPACE/]NAME, or its uid.',
    }),
    command: withMeta(Text.optional(), {
      commandLineOnly: true,
      placeholder: 'ID',
      description: 'Only what this command deleted.',
    }),
    owner: withMeta(Text.optional(), {
      commandLineOnly: true,
      placeholder: 'UID',
      description: 'Only what had this owner, by its uid.',
    }),
    since: pointOption(
      'Only what was deleted since this time (ISO 8601), since so long ago (2h, 7d), or since a record was written (gc.cluster.removed/3@1042).',
    ),
    ...manifestOptions,
    trustRoots: withMeta(readingTrustOptions.trustRoots, {
      description: 'File of the roots. With it, only what a key of role cluster signed is printed.',
    }),
    ...auditLogOptions,
  }),
  run: async ({ cluster, object, command, owner, since, output, trustRoots, ...options }, context) => {
    const { undone } = await import('../../services/cluster/ask/undo.ts');
    const { readRemoved } = await import('../../services/cluster/ask/read-removed.ts');
    const { askedObject, isMeant } = await import('../../packages/audit/explain/cluster.ts');
    const roots = readReadingRoots({ trustRoots });
    const asked = object === undefined ? null : askedObject(object);
    await using log = await openAuditLog(options, context);
    const { signal, logger } = context;
    const range = await timeRange({ from: since }, { log, nowMs: Date.now(), signal });
    const question = {
      cluster,
      isNamed: asked && ((each: Parameters<typeof isMeant>[1]) => isMeant(asked, each)),
      commandId: command ?? null,
      ownerUid: owner ?? null,
      range,
    };
    const read = await readRemoved(log, question, await parserBy(roots, log, signal), signal);
    if (read.unreadable > 0) logger.warn(`${counted(read.unreadable, 'record')} ${UNREADABLE}`);
    const answer = undone(read);
    await print(answer.creatable, output, context);
    for (const line of undoLines(answer)) logger.info(line);
    if (answer.creatable.length === 0) throw nothingToPrint(cluster);
  },
});

const UNREADABLE = 'could not be read or believed, and nothing is printed of them';

async function parserBy(roots: TrustRoots | null, log: LogReader, signal: AbortSignal): Promise<ParseRecord> {
  if (roots === null) return parseRecord;
  const { ring } = await readKeys(log, roots, signal);
  return parseBelieved(
    new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => 0, judges: 'as-recorded' }),
  );
}

async function print(
  creatable: readonly Creatable[],
  output: ManifestFormat,
  { write }: VerbContext,
): Promise<void> {
  if (creatable.length === 0) return;
  const manifests = creatable.map(({ manifest }) => manifest);
  if (output !== 'yaml') return await write(`${manifestText(output, manifests, [])}\n`);
  for (const [index, manifest] of manifests.entries())
    await write(`${index === 0 ? '' : '---\n'}${manifestDocument(manifest)}`);
}

const nothingToPrint = (cluster: string): FleetGcError =>
  new FleetGcError(
    'NOT_FOUND',
    `the event log holds no manifest of such an object of cluster ${cluster}. It holds those that FleetGC deleted in the last 14 days under a policy with undo: manifest`,
  );
