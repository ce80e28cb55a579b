import { z } from 'zod';
import { placeOf } from '../../../packages/audit/events/log-position.ts';
import { RecordJudge } from '../../../packages/audit/signed-events.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { LineTooLong, linesOf } from '../../../packages/process/lines.ts';
import { fileText, readBytes } from '../../../packages/process/options/named-file.ts';
import { FilePath, withMeta } from '../../../packages/process/options/options.ts';
import { MAX_EVENT_BYTES, readStructuredEvent } from '../../../packages/records/structured-event.ts';
import { readKeys } from '../../../packages/records/trust/key-source.ts';
import { readTrustRoots } from '../../../packages/records/trust/roots-file.ts';
import { openAuditLog } from '../../framework/audit-log.ts';
import { formatOption, jsonLine } from '../../framework/output.ts';
import { defineVerb } from '../../framework/verb.ts';
import { auditLogOptions } from '../../options/archive-options.ts';
import { trustRootsOption } from '../../options/key-options.ts';
import { EventCounts, type JudgedEvent, judgedEventLine } from '../../views/keys.ts';

export const verb = defineVerb({
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
