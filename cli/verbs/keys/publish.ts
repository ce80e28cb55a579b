import { z } from 'zod';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { fileText, readTextFile } from '../../../packages/process/options/named-file.ts';
import { FilePath, withMeta } from '../../../packages/process/options/options.ts';
import { readKeys } from '../../../packages/records/trust/key-source.ts';
import { readTrustRoots } from '../../../packages/records/trust/roots-file.ts';
import { readSignedRecord } from '../../../packages/records/trust/statement.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { trustRootsOption } from '../../options/key-options.ts';

/** A hundred thousand statements take less. */
const MAX_STATEMENTS_BYTES = 67_108_864;

export const verb = defineVerb({
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
