import { z } from 'zod';
import { type ArchiveFindings, checkArchive } from '../../../packages/archive/check-archive.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { Text, withMeta } from '../../../packages/process/options/options.ts';
import { counted } from '../../../packages/text/counted.ts';
import { formatResult, partedOutputOptions } from '../../framework/output.ts';
import { defineVerb } from '../../framework/verb.ts';
import { archivePlace, s3Options } from '../../options/archive-options.ts';
import { findingsLines, findingsNdjson } from '../../views/archive.ts';
import { checkingProgress } from '../../views/audit-text.ts';

const Head = z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be 64 hexadecimal digits' });

export const verb = defineVerb({
  help: [
    'Reads every file of the archive and compares it with the manifest, whose lines are chained by their hashes. Whoever may write to the archive can forge a new chain, or cut off its end: only a head that was noted elsewhere reveals that.',
    'Exit codes: 0 unchanged, 1 a deviation, 2 wrong options.',
  ],
  examples: [
    'fleetgc audit archive check --archive /srv/fleetgc-archive',
    'fleetgc audit archive check --archive /srv/fleetgc-archive --head "$(cat noted-head)"',
  ],
  options: z.object({
    archive: withMeta(Text, {
      placeholder: 'DIRECTORY|URL',
      description: 'Where the archive is: a directory, or s3://BUCKET/PREFIX.',
    }),
    ...s3Options,
    head: withMeta(Head.optional(), {
      commandLineOnly: true,
      placeholder: 'SHA256',
      description: 'A head that was noted earlier: all up to there must still be in the archive.',
    }),
    ...partedOutputOptions('a finding'),
  }),
  run: async ({ archive, head = null, output, ...s3 }, { progress, signal, write }) => {
    const onProgress = checkingProgress(progress);
    const findings = await checkArchive(
      { place: archivePlace(archive, s3), expectedHead: head, onProgress },
      signal,
    );
    await write(
      output === 'ndjson'
        ? findingsNdjson(findings)
        : formatResult(output, { value: findings, lines: findingsLines(findings) }),
    );
    requireUntouched(findings);
  },
});

/** Throws `ARCHIVE_CHANGED`. */
function requireUntouched({ deviations }: ArchiveFindings): void {
  if (deviations.length === 0) return;
  throw new FleetGcError(
    'ARCHIVE_CHANGED',
    `${counted(deviations.length, 'deviation')}: the archive is not as it was written. Find out who may write to it, and take it from a copy`,
  );
}
