import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { openStateDirectory } from '../../../../packages/machine/state-directory.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import {
  followLocalRules,
  LOCAL_MARK_FILE,
  type LocalRules,
  NO_LOCAL_RULES,
  STABLE_MS,
} from '../../../../services/node/executor/local-rules.ts';
import { logLines } from '../../../support/log-lines.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { diskFull, memoryState } from './support/memory-state.ts';

const LogLine = z.object({ level: z.string(), msg: z.string() });
const HOLDING = 'keepPatterns:\n- registry.example/*\nmaxRemovalsPerHour: 10\nhold: true\n';

/** A node on which processes follow one file; `start` is a new process. */
function nodeWithFile({ isNamed = false } = {}) {
  const path = join(temporaryDirectory(), 'node.yaml');
  const state = memoryState();
  const clock = manualClock();
  const lines = logLines();
  const logger = createLogger({ service: 'test', level: 'info' }, lines);
  const start = (): (() => Promise<LocalRules>) =>
    followLocalRules({ path, isNamed }, { clock, state, logger });
  return { path, state, clock, lines, start, write: (text: string) => writeFileSync(path, text) };
}

const held = (message: string) => ({ kind: 'held', message: expect.stringContaining(message) });

test('a file that was never there restricts nothing', async () => {
  expect(await nodeWithFile().start()()).toEqual(NO_LOCAL_RULES);
});

test('a file that an option names has to be there', async () => {
  const { path, start, write } = nodeWithFile({ isNamed: true });
  const rules = start();
  expect(await rules()).toEqual(held(`${path} is named by --local-file and is missing`));
  write('{}\n');
  expect(await rules()).toEqual(NO_LOCAL_RULES);
});

test('a restriction holds from the moment in which it is written', async () => {
  const { start, write } = nodeWithFile();
  const rules = start();
  await rules();
  write('hold: true\n');
  expect(await rules()).toMatchObject({ hold: true });
  write(HOLDING);
  expect(await rules()).toMatchObject({ hold: true, maxRemovalsPerHour: 10 });
});

test('a file that an editor takes away and writes anew holds everything meanwhile', async () => {
  const { path, start, write } = nodeWithFile();
  write('keepPatterns: ["a"]\n');
  const rules = start();
  await rules();
  renameSync(path, `${path}~`);
  expect(await rules()).toEqual(held('was there before and is missing: put it back, or write {} into it'));
  write('keepPatterns: ["a", "b"]\n');
  expect(await rules()).toMatchObject({ kind: 'rules', keepPatterns: ['a', 'b'] });
});

test.each([
  { half: 0, why: 'it is empty' },
  { half: 'keepPatterns:\n- registry.example/*\n'.length, why: 'without hold, maxRemovalsPerHour' },
  {
    half: 'keepPatterns:\n- registry.exam'.length,
    why: 'without hold, maxRemovalsPerHour, registry.example/*',
  },
  { half: HOLDING.indexOf('0\n'), why: 'without hold' },
])('a file of which $half bytes are written holds everything', async ({ half, why }) => {
  const { path, clock, start, write } = nodeWithFile();
  write(HOLDING);
  const rules = start();
  await rules();
  truncateSync(path, half);
  expect(await rules()).toEqual(held(why));
  clock.advance(STABLE_MS - 1);
  expect(await rules()).toEqual(held(why));
  write(HOLDING);
  expect(await rules()).toMatchObject({ hold: true, maxRemovalsPerHour: 10 });
});

test.each([
  { name: 'hold', text: 'keepPatterns:\n- registry.example/*\nmaxRemovalsPerHour: 10\n' },
  { name: 'the limit', text: 'keepPatterns:\n- registry.example/*\nhold: true\n' },
  { name: 'a higher limit', text: HOLDING.replace('10', '11') },
  { name: 'another pattern', text: HOLDING.replace('registry.example/*', 'registry.example/**') },
])('$name is lifted once the file has stayed as it is for 10 s', async ({ text }) => {
  const { clock, start, write } = nodeWithFile();
  write(HOLDING);
  const rules = start();
  await rules();
  write(text);
  expect(await rules()).toMatchObject({ kind: 'held' });
  clock.advance(STABLE_MS - 1);
  expect(await rules()).toMatchObject({ kind: 'held' });
  clock.advance(1);
  expect(await rules()).toMatchObject({ kind: 'rules' });
  expect(await rules()).toMatchObject({ kind: 'rules' });
});

test('the wall clock does not make a file stay', async () => {
  const { clock, start, write } = nodeWithFile();
  write(HOLDING);
  const rules = start();
  await rules();
  write('hold: false\n');
  await rules();
  clock.stepWall(86_400_000);
  expect(await rules()).toMatchObject({ kind: 'held' });
});

test.each([
  { name: 'another text', write: (path: string) => writeFileSync(path, 'maxRemovalsPerHour: 20\n') },
  { name: 'the same text', write: (path: string) => utimesSync(path, 1, 1) },
  { name: 'what nobody understands', write: (path: string) => writeFileSync(path, 'hold: [') },
  { name: 'nothing, by taking it away', write: (path: string) => rmSync(path) },
])('writing $name meanwhile begins the 10 s anew', async ({ write }) => {
  const node = nodeWithFile();
  node.write(HOLDING);
  const rules = node.start();
  await rules();
  node.write('maxRemovalsPerHour: 30\n');
  await rules();
  node.clock.advance(STABLE_MS - 1);
  write(node.path);
  await rules();
  node.write('maxRemovalsPerHour: 30\n');
  node.clock.advance(1);
  expect(await rules()).toMatchObject({ kind: 'held' });
  node.clock.advance(STABLE_MS);
  expect(await rules()).toMatchObject({ maxRemovalsPerHour: 30 });
});

test('a file that is missing at a restart holds everything, however long, until one says otherwise', async () => {
  const { clock, path, start, write } = nodeWithFile();
  write('hold: true\n');
  await start()();
  rmSync(path);
  const rules = start();
  expect(await rules()).toEqual(held('was there before and is missing'));
  clock.advance(86_400_000);
  expect(await rules()).toEqual(held('was there before and is missing'));
  write('{}\n');
  expect(await rules()).toEqual(held('is another than before the restart'));
  clock.advance(STABLE_MS);
  expect(await rules()).toEqual(NO_LOCAL_RULES);
  rmSync(path);
  expect(await rules()).toEqual(NO_LOCAL_RULES);
  expect(await start()()).toEqual(NO_LOCAL_RULES);
});

test('a file that stayed as it was over a restart is believed at once', async () => {
  const { start, write } = nodeWithFile();
  write('maxRemovalsPerHour: 5\n');
  await start()();
  expect(await start()()).toMatchObject({ maxRemovalsPerHour: 5 });
});

test('the file of another option is another file', async () => {
  const node = nodeWithFile();
  node.write('hold: true\n');
  await node.start()();
  const other = { path: `${node.path}.other`, isNamed: false };
  const logger = createLogger({ service: 'test', level: 'silent' }, logLines());
  expect(await followLocalRules(other, { ...node, logger })()).toEqual(NO_LOCAL_RULES);
});

test('a state directory that cannot tell whether there was a file waits for one', async () => {
  const { clock, state, start, write } = nodeWithFile();
  state.files.set(LOCAL_MARK_FILE, '{"version":1,"seen":7}');
  const rules = start();
  expect(await rules()).toEqual(held('is missing'));
  write('{}\n');
  await rules();
  clock.advance(STABLE_MS);
  expect(await rules()).toEqual(NO_LOCAL_RULES);
  expect(await start()()).toEqual(NO_LOCAL_RULES);
});

test('a state directory that takes nothing lifts nothing in this process, and the log says so', async () => {
  const { lines, path, state, start, write } = nodeWithFile();
  state.beforeWrite = diskFull;
  write('hold: true\n');
  const rules = start();
  expect(await rules()).toMatchObject({ hold: true });
  rmSync(path);
  expect(await rules()).toEqual(held('is missing'));
  expect(lines.lines.join()).toContain('cannot be remembered over a restart');
});

test('the longest path is remembered on a real disk', async () => {
  const directory = temporaryDirectory();
  const state = openStateDirectory(join(directory, 'state'), 'a machine');
  const logger = createLogger({ service: 'test', level: 'silent' }, logLines());
  const below = `${directory}/${'\u0001'.repeat(200)}`;
  mkdirSync(below);
  const option = { path: join(below, 'node.yaml'), isNamed: false };
  writeFileSync(option.path, 'hold: true\n');
  const start = () => followLocalRules(option, { clock: manualClock(), state, logger });
  await start()();
  rmSync(option.path);
  expect(await start()()).toEqual(held('was there before'));
});

test('a file that cannot be read, is a pipe, lies below a file or is too large holds everything, and says why', async () => {
  const { path, start, write } = nodeWithFile();
  mkdirSync(path);
  expect(await start()()).toEqual(held('cannot be read: it is a directory'));
  rmSync(path, { recursive: true });
  execFileSync('mkfifo', [path]);
  expect(await start()()).toEqual(held('it is no file'));
  rmSync(path);
  write(`hold: false # ${'x'.repeat(70_000)}\n`);
  expect(await start()()).toEqual(held('more than 65536 bytes'));
  const { clock, state } = nodeWithFile();
  const logger = createLogger({ service: 'test', level: 'silent' }, logLines());
  const below = { path: join(path, 'below'), isNamed: false };
  expect(await followLocalRules(below, { clock, state, logger })()).toEqual(
    held('a part of the path is not a directory'),
  );
});

test('the log is told once what is wrong with the file, at each change, and when it is followed again', async () => {
  const { clock, lines, start, write } = nodeWithFile();
  const look = async (rules: () => Promise<LocalRules>, text: string) => {
    write(text);
    await rules();
    await rules();
    return lines.lines.splice(0).map((line) => LogLine.parse(JSON.parse(line)));
  };
  const rules = start();
  expect(await look(rules, 'hold: tru\n')).toEqual([
    {
      level: 'error',
      msg: expect.stringMatching(/node\.yaml holds everything .*: hold must be true or false$/),
    },
  ]);
  expect(await look(rules, 'holt: true\n')).toEqual([
    {
      level: 'error',
      msg: expect.stringMatching(/there is no setting holt, only keepPatterns, maxRemovalsPerHour, hold$/),
    },
  ]);
  expect(await look(rules, 'hold: true\n')).toEqual([
    { level: 'info', msg: expect.stringMatching(/node\.yaml is followed again$/) },
  ]);
  expect(await look(rules, '{}\n')).toEqual([
    { level: 'info', msg: expect.stringContaining('restricts less than it did') },
  ]);
  clock.advance(STABLE_MS);
  await rules();
  expect(lines.lines).toEqual([expect.stringContaining('is followed again')]);
});
