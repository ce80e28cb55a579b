/** Makes a file and a directory in each way that there is, below the directory that is named, and prints the mode of each. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { openFixedFile } from '../../../packages/files/fixed-file.ts';
import { inFolder } from '../../../packages/files/folders.ts';
import { replaceFile, writeNewFile } from '../../../packages/files/open-file.ts';
import { openDatabase } from '../../../packages/log/embedded/database.ts';
import { openStateDirectory } from '../../../packages/machine/state-directory.ts';

const [, , root = ''] = process.argv;
inFolder(root, 'a/b', (folder) => writeNewFile(`${folder}/new`, 'x'));
replaceFile(join(root, 'replaced'), 'x');
openFixedFile(join(root, 'fixed'), 1, z.string()).write('x');
openStateDirectory(join(root, 'state/deep'), 'machine');
const database = await openDatabase(join(root, 'log/log.db'), 100_000_000, () => undefined);
for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
  const { mode } = statSync(join(entry.parentPath, entry.name));
  process.stdout.write(`${entry.name.replace(/^instance-.*/, 'instance')} ${(mode & 0o777).toString(8)}\n`);
}
database.close();
