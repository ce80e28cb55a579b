import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { written } from '../../../packages/archive/archive-writer.ts';
import { directoryStore } from '../../../packages/archive/directory-store.ts';
import { ARCHIVE_VERSION } from '../../../packages/archive/manifest.ts';
import { sha256Hex } from '../../../packages/canonical/ids.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const RANGE = {
  topic: TOPICS.inventory.name,
  partition: 3,
  firstOffset: 5n,
  lastOffset: 6n,
  rows: 2,
  rawBytes: 10,
  oldestMs: 1,
  newestMs: 2,
  lastMs: 2,
} as const;

/** Whoever can write to the archive, and is quick. */
function putOver(directory: string): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) writeFileSync(join(entry.parentPath, entry.name), 'forged');
}

test('the manifest names what was written, and not what somebody put in its place before it was hashed', async () => {
  const directory = temporaryDirectory();
  using store = await directoryStore(directory).openForWriting(randomUUID);
  const line = await written({ store, version: ARCHIVE_VERSION }, RANGE, {
    write: async (path) => {
      writeFileSync(path, 'true');
      putOver(directory);
    },
    names: null,
  });
  expect(line.sha256).toBe(sha256Hex(Buffer.from('true')));
  expect(readFileSync(join(directory, line.file), 'utf8')).toBe('true');
});
