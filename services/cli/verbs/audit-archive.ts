import { z } from 'zod';
import type { ArchiveRun } from '../../audit/archive/archive-to.ts';
import { FleetGcError } from '../../shared/errors.ts';
import { logOptions } from '../../shared/option-groups.ts';
import { Text, withMeta } from '../../shared/option-types.ts';
import { formatResult, outputOptions } from '../../shared/output.ts';
import { defineVerb } from '../../shared/verb.ts';
import { runLines, runValue } from '../audit/archive-lines.ts';
import { loadArchiveCode } from '../audit/load-archive-code.ts';
import { readingProgress } from '../audit/reading-progress.ts';
import { openTaskLog } from '../task-log.ts';
import { about } from '../verb-list.ts';

export const auditArchive = defineVerb({
  ...about('audit archive'),
  options: z.object({
    to: withMeta(Text, {
      commandLineOnly: true,
      placeholder: 'DIRECTORY',
      description: 'Where the archive is; begun when there is none.',
    }),
    ...outputOptions,
    ...logOptions('kafka'),
  }),
  run: async ({ to: directory, output, ...options }, context) => {
    const { logger, signal, print } = context;
    const { archiveTo } = await loadArchiveCode(() => import('../../audit/archive/archive-to.ts'));
    await using log = await openTaskLog({ options, context });
    const onProgress = readingProgress((line) => logger.info(line), Date.now);
    const run = await archiveTo({ log, directory, now: Date.now, onProgress }, signal);
    print(formatResult(output, { value: runValue(run), lines: runLines(run) }));
    if (signal.aborted) logger.warn('stopped before the end of the log; the next run goes on from here');
    requireNothingLost(run);
  },
});

/** Throws `ARCHIVE_GAP`. */
function requireNothingLost({ lost }: ArchiveRun): void {
  if (lost.length === 0) return;
  const records = lost.reduce((sum, range) => sum + range.lastOffset - range.firstOffset + 1n, 0n);
  throw new FleetGcError(
    'ARCHIVE_GAP',
    `${records} records were deleted from the log before they could be archived. The archive says where; run "fleetgc audit archive" more often than the retention of the topics, of which the shortest is a day`,
  );
}
