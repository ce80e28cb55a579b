import { z } from 'zod';
import { placeOf } from '../../packages/audit/events/log-position.ts';
import { RecordJudge } from '../../packages/audit/signed-events.ts';
import {
  EventCounts,
  type JudgedEvent,
  judgedEventLine,
  keyLines,
  keyValues,
} from '../../packages/documents/keys.ts';
import { DAY_MS } from '../../packages/process/durations.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { LineTooLong, linesOf } from '../../packages/process/lines.ts';
import { fileText, readBytes, readTextFile } from '../../packages/process/options/named-file.ts';
import { FilePath, Text, TextList, withMeta } from '../../packages/process/options/options.ts';
import { MAX_EVENT_BYTES, readStructuredEvent } from '../../packages/records/structured-event.ts';
import { readKeys } from '../../packages/records/trust/key-source.ts';
import { keyProblems, readPrivateKey } from '../../packages/records/trust/private-key.ts';
import { readTrustRoots } from '../../packages/records/trust/roots-file.ts';
import { certificate, readSignedRecord, revocation } from '../../packages/records/trust/statement.ts';
import { counted } from '../../packages/text/counted.ts';
import { jsonLine } from '../../packages/text/json-text.ts';
import { printableLine } from '../../packages/text/printable.ts';
import { timeText } from '../../packages/text/time-text.ts';
import { NodeName } from '../../schemas/events/identity.ts';
import { KeyCertificate, KeyId, KeyRevocation, KeyRole } from '../../schemas/keys/key-statement.ts';
import { openAuditLog } from '../framework/audit-log.ts';
import {
  formatOption,
  objectOptions,
  outputOptions,
  printObjects,
  printResult,
} from '../framework/output.ts';
import { issueStatement } from '../framework/policy-writer.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb } from '../framework/verb.ts';
import { auditLogOptions } from '../options/archive-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { LongDuration } from '../options/time-options.ts';
import {
  checkedKeyOptions,
  privateKeySource,
  publicKeyFrom,
  rootOptions,
  trustRootsOption,
} from '../options/trust-options.ts';

export const certifyVerb = defineVerb({
  help: [
    'Roles: decider signs orders and commands. operator signs policies, pauses and deletions. pauser signs pauses alone. dashboard signs pauses, approvals and their ends, and no policy. policy-controller signs the policies that lie in its one cluster as Kubernetes objects. archiver signs heads of archives. node signs what nodes report. root certifies keys, as the successor of this root.',
    'Certifying a key anew replaces what was said of it before: another time, other clusters, another role.',
  ],
  examples: [
    'fleetgc keys certify decider.pub --role decider --name deciders --valid-for 90d --trust-roots roots.yaml --root-key-file root.pem --kafka-brokers kafka:9092',
    'fleetgc keys certify "$KEY" --role operator --cluster prod-eu --name ops --valid-for 30d --trust-roots roots.yaml --root-key-file root.pem --offline > ops.statement',
    'fleetgc keys certify web-1.pub --role node --cluster prod-eu --node web-1 --name web-1 --valid-for 90d --trust-roots roots.yaml --root-key-file root.pem --kafka-brokers kafka:9092',
  ],
  options: z.object({
    publicKey: withMeta(Text, {
      positional: true,
      placeholder: 'KEY|FILE',
      description: 'The public key, as "keys create" prints it, or a file that holds it.',
    }),
    role: withMeta(KeyRole, { commandLineOnly: true, description: 'What the key may sign.' }),
    name: withMeta(KeyCertificate.shape.name, {
      commandLineOnly: true,
      placeholder: 'TEXT',
      description: 'Whose key it is, for people.',
    }),
    cluster: withMeta(TextList.pipe(KeyCertificate.shape.clusters).prefault([]), {
      kind: 'list',
      commandLineOnly: true,
      placeholder: 'NAME,…',
      description: 'Only for these clusters; without it for all.',
    }),
    node: withMeta(TextList.pipe(z.array(NodeName)).optional(), {
      kind: 'list',
      commandLineOnly: true,
      placeholder: 'NAME,…',
      description: 'For role node: only for these nodes of --cluster; without it for all of them.',
    }),
    validFor: withMeta(LongDuration, {
      commandLineOnly: true,
      description: 'How long the key may sign, from now on: 90d, 12h.',
    }),
    ...rootOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ publicKey, role, name, cluster, node, validFor, ...issuing }, context) => {
    if (role === 'root' && cluster.length > 0)
      throw new FleetGcError('USAGE', 'a root is for all clusters; leave --cluster out');
    if (node !== undefined && (role !== 'node' || cluster.length === 0))
      throw new FleetGcError('USAGE', '--node needs --role node, and --cluster to say where these nodes are');
    if (role === 'policy-controller' && cluster.length !== 1)
      throw new FleetGcError('USAGE', '--role policy-controller needs --cluster, with its own cluster alone');
    const issuedAtMs = Date.now();
    const statement = certificate({
      publicKey: publicKeyFrom(publicKey),
      role,
      clusters: cluster,
      ...(node && { nodes: node }),
      name,
      issuedAtMs,
      notAfterMs: issuedAtMs + validFor,
    });
    if (!(await issueStatement(statement, issuing, context))) return;
    context.print(
      `certified: ${statement.keyId} (${name}) as ${role} until ${timeText(statement.notAfterMs)}`,
    );
  },
});

export const revokeVerb = defineVerb({
  help: [
    'This is for good: the key can never be certified again. Orders that it signed count no more, from the moment at which nodes read this. Policies and pauses that it signed stay in force, unless the event log took them later than --stolen-for ago.',
    'Revoking a root also takes back every key that this root alone certified. Certify them with its successor first.',
  ],
  examples: [
    'fleetgc keys revoke 4f0c… --reason "laptop lost" --trust-roots roots.yaml --root-key-file root.pem --kafka-brokers kafka:9092',
    'fleetgc keys revoke 4f0c… --reason "seen in a paste" --stolen-for 7d --trust-roots roots.yaml --root-key-file root.pem --kafka-brokers kafka:9092',
  ],
  options: z.object({
    keyId: withMeta(KeyId, {
      positional: true,
      placeholder: 'ID',
      description: 'Id of the key, as "keys list" shows it.',
    }),
    reason: withMeta(KeyRevocation.shape.reason.min(1), {
      commandLineOnly: true,
      placeholder: 'TEXT',
      description: 'Why, for whoever reads it years later.',
    }),
    stolenFor: withMeta(LongDuration.optional(), {
      commandLineOnly: true,
      description:
        'For how long somebody else may have had the key: what it signed since then counts no more. Default: from now on.',
    }),
    ...rootOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ keyId, reason, stolenFor = 0, ...issuing }, context) => {
    const issuedAtMs = Date.now();
    const statement = revocation({ keyId, reason, issuedAtMs, untrustedFromMs: issuedAtMs - stolenFor });
    if (!(await issueStatement(statement, issuing, context))) return;
    context.print(
      `revoked: ${keyId}; what it signed since ${timeText(statement.untrustedFromMs)} counts no more`,
    );
  },
});

/** A hundred thousand statements take less. */
const MAX_STATEMENTS_BYTES = 67_108_864;

export const publishVerb = defineVerb({
  help: [
    'For statements that were signed with --offline. Each is checked first; if one of them says nothing, none is written.',
  ],
  examples: ['fleetgc keys publish ops.statement --trust-roots roots.yaml --kafka-brokers kafka:9092'],
  options: z.object({
    file: withMeta(FilePath, {
      positional: true,
      description: 'File with a signed statement a line; - is stdin.',
    }),
    ...trustRootsOption,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ file, trustRoots, ...options }, context) => {
    const roots = readTrustRoots(trustRoots);
    const text = readTextFile(file, MAX_STATEMENTS_BYTES);
    if (!text.ok) throw new FleetGcError('USAGE', `${fileText(file)} cannot be read: ${text.reason}`);
    const records = text.text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line, index) => readSignedRecord(line, `${fileText(file)}, line ${index + 1},`));
    await using log = await openTaskEventLog({ options, context });
    const { ring } = await readKeys(log, roots, context.signal);
    for (const [index, record] of records.entries()) {
      const added = ring.add({ ...record, partition: 0, offset: 0n, timestampMs: Date.now() });
      if (added.kind === 'refused')
        throw new FleetGcError(
          'KEY_UNUSABLE',
          `${fileText(file)}, line ${index + 1}: no process would trust this statement: ${added.why}. Nothing was written`,
        );
    }
    await log.publish(records);
    for (const { key } of records) context.print(`published: ${key}`);
  },
});

export const listVerb = defineVerb({
  help: [
    'Lists what the roots vouch for, and the roots themselves. Records that no root signed are counted.',
  ],
  examples: ['fleetgc keys list --trust-roots roots.yaml --kafka-brokers kafka:9092'],
  options: z.object({ ...trustRootsOption, ...objectOptions, ...eventLogOptions('kafka') }),
  run: async ({ trustRoots, output, ...options }, context) => {
    const roots = readTrustRoots(trustRoots);
    await using log = await openTaskEventLog({ options, context });
    const { ring, unreadable } = await readKeys(log, roots, context.signal);
    const keys = keyValues(ring, roots, Date.now());
    const value = { fleet: roots.fleet, keys, unreadable };
    await printObjects(context, output, {
      value,
      lines: keyLines(keys, false),
      wideLines: keyLines(keys, true),
      names: keys.map(({ keyId }) => keyId),
    });
    if (unreadable.length > 0)
      context.logger.warn(
        `gc.keys holds ${counted(unreadable.length, 'record')} that no root of this fleet made; they change nothing. "keys check" says which`,
      );
  },
});

const SOON_MS = 14 * DAY_MS;

export const checkVerb = defineVerb({
  help: [
    'Checks the file of roots, a private key if one is named, and what gc.keys says: keys that have ended or end soon, records that no root made, no key left for a role.',
    'Exit codes: 0 nothing found, 1 something found, 2 wrong options or files.',
  ],
  examples: [
    'fleetgc keys check --trust-roots roots.yaml --kafka-brokers kafka:9092',
    'fleetgc keys check --key-file decider.pem --role decider --trust-roots roots.yaml --kafka-brokers kafka:9092',
  ],
  options: z.object({
    ...checkedKeyOptions,
    role: withMeta(KeyRole.optional(), {
      commandLineOnly: true,
      description: 'What that key is to sign.',
    }),
    within: withMeta(LongDuration.optional(), {
      commandLineOnly: true,
      description: 'A key that ends within this time is a problem. Default: 14d.',
    }),
    ...trustRootsOption,
    ...outputOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ keyFile, keyCommand, role, within = SOON_MS, trustRoots, output, ...options }, context) => {
    const roots = readTrustRoots(trustRoots);
    const source = privateKeySource(keyFile, keyCommand, 'keyFile');
    const own = source && { key: await readPrivateKey(source, context.signal), role: role ?? null };
    await using log = await openTaskEventLog({ options, context });
    const stored = await readKeys(log, roots, context.signal);
    const problems = keyProblems(stored, { own, nowMs: Date.now(), soonMs: within });
    const lines = problems.length === 0 ? ['no problem found'] : problems.map(printableLine);
    await printResult(context, output, { value: { problems }, lines });
    if (problems.length > 0)
      throw new FleetGcError('KEY_PROBLEM', `${counted(problems.length, 'problem')} found`);
  },
});

export const verifyVerb = defineVerb({
  help: [
    'Reads events as "audit events" prints them, one a line, wherever they come from, and says of each who signed it. What roots say of keys is read from the event log, or from an archive of it.',
    'A time in an event proves nothing. good: its key is good now. good-then: its key has ended or was revoked since the time that the event bears.',
    'Exit codes: 0 all are good, 1 something is wrong with one, 2 wrong options or files, 3 nothing is wrong, but not all is proved (it says why).',
  ],
  examples: [
    'fleetgc keys verify events.ndjson --trust-roots roots.yaml --kafka-brokers kafka:9092',
    'fleetgc keys verify - --trust-roots roots.yaml --log archive --archive /srv/fleetgc-archive < events.ndjson',
  ],
  options: z.object({
    file: withMeta(FilePath, {
      positional: true,
      description: 'File with a CloudEvent in structured mode a line; - is stdin.',
    }),
    ...trustRootsOption,
    output: formatOption(['table', 'ndjson'], 'table for people; ndjson for an event a line.'),
    ...auditLogOptions,
  }),
  run: async ({ file, trustRoots, output, ...options }, context) => {
    const { signal } = context;
    const roots = readTrustRoots(trustRoots);
    await using log = await openAuditLog(options, context);
    const [{ ring }, { ring: statements }] = [
      await readKeys(log, roots, signal),
      await readKeys(log, roots, signal),
    ];
    const judge = new RecordJudge({ ring, statements, nowMs: Date.now() });
    const counts = new EventCounts();
    for await (const event of judgedEvents(file, judge, signal)) {
      counts.count(event);
      await context.write(`${output === 'ndjson' ? jsonLine(event) : judgedEventLine(event)}\n`);
    }
    counts.requireGood();
  },
});

async function* judgedEvents(
  file: string,
  judge: RecordJudge,
  signal: AbortSignal,
): AsyncGenerator<JudgedEvent> {
  let line = 0;
  try {
    for await (const bytes of linesOf(endedLine(readBytes(file, signal)), MAX_EVENT_BYTES)) {
      line += 1;
      if (bytes.length > 0) yield judgedEvent(line, bytes, judge);
    }
  } catch (error) {
    if (!(error instanceof LineTooLong)) throw error;
    throw new FleetGcError(
      'USAGE',
      `${fileText(file)}, line ${line + 1}, has more than the ${MAX_EVENT_BYTES} bytes that are read; it and what follows it were not looked at`,
    );
  }
}

/** The last line counts, whether it is ended or not. */
async function* endedLine(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* chunks;
  yield Buffer.from('\n');
}

function judgedEvent(line: number, bytes: Buffer, judge: RecordJudge): JudgedEvent {
  const read = readStructuredEvent(bytes);
  if (!read.ok)
    return { line, verdict: 'unreadable', place: null, key: null, signedBy: null, message: read.why };
  const { record } = read;
  const { topic, partition, offset } = placeOf(record);
  return { line, place: { topic, partition, offset }, key: record.key, ...judge.judge(record) };
}
