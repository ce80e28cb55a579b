import { z } from 'zod';
import { type ArchiveFindings, checkArchive } from '../../audit/archive/check-archive.ts';
import { FleetGcError } from '../../shared/errors.ts';
import { Text, withMeta } from '../../shared/option-types.ts';
import { formatResult, outputOptions } from '../../shared/output.ts';
import { defineVerb } from '../../shared/verb.ts';
import { checkingProgress, findingsLines } from '../audit/archive-lines.ts';
import { about } from '../verb-list.ts';

const Head = z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be 64 hexadecimal digits' });

export const auditArchiveCheck = defineVerb({
  ...about('audit archive-check'),
  options: z.object({
    directory: withMeta(Text, {
      positional: true,
      placeholder: 'DIRECTORY',
      description: 'Where the archive is.',
    }),
    head: withMeta(Head.optional(), {
      commandLineOnly: true,
      placeholder: 'SHA256',
      description: 'A head that was noted earlier: all up to there must still be in the archive.',
    }),
    ...outputOptions,
  }),
  run: async ({ directory, head = null, output }, { logger, signal, print }) => {
    const onProgress = checkingProgress((line) => logger.info(line), Date.now);
    const findings = await checkArchive({ directory, expectedHead: head, onProgress }, signal);
    print(formatResult(output, { value: findings, lines: findingsLines(findings) }));
    requireUntouched(findings);
  },
});

/** Throws `ARCHIVE_CHANGED`. */
function requireUntouched({ deviations }: ArchiveFindings): void {
  if (deviations.length === 0) return;
  throw new FleetGcError(
    'ARCHIVE_CHANGED',
    `${deviations.length} deviations: the archive is not as it was written. Find out who may write to it, and take it from a copy`,
  );
}
