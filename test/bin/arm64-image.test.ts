import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { REPOSITORY } from '../deploy/files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

test('a Node.js that is not the one of package-lock.json gets into no image', async () => {
  const folder = temporaryDirectory();
  const into = join(folder, 'image.tar');
  // As if Debian's packages had been fetched before.
  writeFileSync(join(folder, 'debian-trixie-arm64.tar'), '');
  const npm =
    '#!/bin/sh\nwhile [ "$1" != --pack-destination ]; do shift; done\necho other > "$2/other.tgz"\n';
  writeFileSync(join(folder, 'npm'), npm, { mode: 0o755 });
  const args = [join(REPOSITORY, 'bin/arm64-image.ts'), '--into', into, '--keep', folder];
  const env = { ...process.env, PATH: [folder, process.env.PATH].join(delimiter) };
  await expect(promisify(execFile)(process.execPath, args, { env })).rejects.toThrow(
    'is not what package-lock.json names',
  );
  expect(existsSync(into)).toBe(false);
});
