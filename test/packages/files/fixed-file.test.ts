import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { openReadOnlyFile } from '../../../packages/files/fixed-file.ts';
import { encodeCopy } from '../../../packages/files/fixed-file-format.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('a file that is whole and holds no JSON is told as unreadable, with nothing of what it holds', () => {
  const path = join(temporaryDirectory(), 'state');
  const copy = encodeCopy(1n, Buffer.from('hunter2'));
  writeFileSync(path, Buffer.concat([copy, copy]));
  const read = () => openReadOnlyFile(path, z.object({})).read();
  expect(read).toThrow(expect.objectContaining({ code: 'STATE_UNREADABLE' }));
  expect(read).not.toThrow('hunter2');
});
