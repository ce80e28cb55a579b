import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Folder } from './folders.ts';
import { runFolder } from './run-folder.ts';

const FOLDER: Folder = {
  name: 'planted',
  sources: ['lab/mutation/planted/countdown.ts'],
  tests: ['lab/mutation/planted'],
};
const FILE = 'lab/mutation/planted/countdown.ts';

test('mutants are killed, survive, loop for ever or are reached by no test, and an explanation stands apart', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'mutation-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const reason = 'The list is as long as it has to be for the tests.';
  const explanations = [
    { file: FILE, mutator: 'StringLiteral', snippet: "'none'", reason },
    { file: FILE, mutator: 'StringLiteral', snippet: "'two'", reason },
  ];
  const asked = {
    directory,
    isMeant: () => true,
    isTest: () => true,
    sampleSize: Infinity,
    isAfresh: false,
    explanations,
    say: () => undefined,
  };
  const { account, unused } = await runFolder(FOLDER, asked);
  const left = account.left.map(
    ({ fate, original, replacement }) => `${fate}: ${original} -> ${replacement}`,
  );
  expect(left.toSorted()).toEqual([
    'not reached: from === 1 -> false',
    'not reached: from === 1 -> from !== 1',
    'not reached: from === 1 -> true',
    'survived: (from: number): boolean => from === 1 -> () => undefined',
    'survived: from >= 2 -> from > 2',
  ]);
  expect(account).toMatchObject({ timedOut: 1, explained: 1, sentences: 1 });
  expect(unused).toEqual([`explains nothing: ${FILE} StringLiteral: 'two'`]);
});
