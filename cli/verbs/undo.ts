import { z } from 'zod';
import { askedObject, isMeant } from '../../packages/audit/explain/cluster.ts';
import type { LogReader } from '../../packages/log/port.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { Text, withMeta } from '../../packages/process/options/options.ts';
import { type ParseRecord, parseBelieved } from '../../packages/records/parse/parse-believed.ts';
import { parseRecord } from '../../packages/records/parse/parse-record.ts';
import { readKeys } from '../../packages/records/trust/key-source.ts';
import { RequiredTrust } from '../../packages/records/trust/trust.ts';
import { counted } from '../../packages/text/counted.ts';
import { ClusterName } from '../../schemas/events/identity.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { readRemoved } from '../../services/cluster/ask/read-removed.ts';
import { type Creatable, undone } from '../../services/cluster/ask/undo.ts';
import { openAuditLog } from '../framework/audit-log.ts';
import { type ManifestFormat, manifestOptions } from '../framework/output.ts';
import { defineVerb, type VerbContext } from '../framework/verb.ts';
import { auditLogOptions } from '../options/archive-options.ts';
import { pointOption, timeRange } from '../options/time-options.ts';
import { readingTrustOptions, readReadingRoots } from '../options/trust-options.ts';
import { manifestDocument, manifestText, undoLines } from '../views/undo.ts';

export const verb = defineVerb({
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
