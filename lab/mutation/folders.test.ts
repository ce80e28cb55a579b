import { expect, test } from 'vitest';
import { FOLDERS, sourcesOf, testsOf } from './folders.ts';

test.each(FOLDERS)('$name has sources, and tests that may kill their mutants', (folder) => {
  for (const pattern of folder.sources) expect(sourcesOf({ ...folder, sources: [pattern] })).not.toEqual([]);
  for (const tests of folder.tests) expect(testsOf({ ...folder, tests: [tests] })).not.toEqual([]);
});
