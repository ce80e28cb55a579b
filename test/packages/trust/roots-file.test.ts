import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { readTrustRoots } from '../../../packages/trust/roots-file.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

afterEach(() => vi.restoreAllMocks());

test('what the YAML parser would warn of stays out of the output: it quotes the file', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
  const path = join(temporaryDirectory(), 'roots.yaml');
  writeFileSync(path, 'fleet: !hunter2 prod\nroots: []\n');
  expect(() => readTrustRoots(path)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  expect(warned).not.toHaveBeenCalled();
});
