import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LocalHold } from '../../../../services/cluster/executor/command-checks.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { harness, itemFor } from './support/executor.ts';
import { kindNamed } from './support/fake-api.ts';

const OWNER = { apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'gone' };

function holdOf(path = join(temporaryDirectory(), 'cluster.yaml')) {
  const told: string[] = [];
  const tell =
    (level: string) =>
    (text: unknown): void =>
      void told.push(`${level}: ${text}`);
  const logger = { error: tell('error'), info: tell('info') };
  return {
    path,
    told,
    hold: new LocalHold(path, logger),
    write: (text: string) => writeFileSync(path, text),
  };
}

test.each(['{}', 'hold: false', '# nothing\nhold: false\n'])('the file holds nothing with %j', (text) => {
  const { hold, write, told } = holdOf();
  write(text);
  expect(hold.objection()).toBeNull();
  expect(told).toEqual([]);
});

test.each([
  ['a hold', 'hold: true', 'it says "hold: true"'],
  ['nothing', '', 'it is empty; write "{}" where nothing is to be held'],
  ['a comment', '# hold: false', 'it is empty; write "{}" where nothing is to be held'],
  ['a text', 'hold: "false"', 'it can say "hold: true" or "hold: false", and nothing else'],
  ['something else', 'held: false', 'it can say "hold: true" or "hold: false", and nothing else'],
  ['no YAML', '[', 'Flow sequence must end with a ] at line 1, column 2'],
  ['two answers', 'hold: false\nhold: false', 'Map keys must be unique at line 2, column 1'],
  ['a lot', '#'.repeat(70_000), 'it has more than 65536 bytes'],
])('what is not certain holds everything: %s', (_, text, why) => {
  const { path, hold, write } = holdOf();
  write(text);
  expect(hold.objection()).toBe(`${path} holds everything: ${why}`);
});

test('so does a file that is not there, a directory, and a pipe that nobody writes to', () => {
  const { path, hold } = holdOf();
  expect(hold.objection()).toBe(`${path} holds everything: it is not there`);
  mkdirSync(path);
  expect(hold.objection()).toBe(`${path} holds everything: it is no file`);
  rmSync(path, { recursive: true });
  execFileSync('mkfifo', [path]);
  expect(hold.objection()).toBe(`${path} holds everything: it is no file`);
});

test('what the system answers about the file is told in words', () => {
  const { path, write } = holdOf();
  write('hold: false');
  const below = join(path, 'below');
  expect(new LocalHold(below, { error: () => undefined, info: () => undefined }).objection()).toBe(
    `${below} holds everything: it cannot be read: a part of the path is not a directory`,
  );
});

test('the log is told once of each reason, and when it is over', () => {
  const { path, hold, write, told } = holdOf();
  for (const text of ['hold: true', 'hold: true', '{}', '{}', 'hold: true']) {
    write(text);
    hold.objection();
  }
  const held = `error: ${path} holds everything: it says "hold: true"`;
  expect(told).toEqual([held, `info: ${path} holds nothing any more`, held]);
});

test('nothing is done while it holds, neither what comes nor what waits', async () => {
  const state = { hold: 'it says "hold: true"' as string | null };
  const { api, carryOut, give, order, done } = harness({ localHold: () => state.hold });
  const object = api.put({ kind: kindNamed('Secret'), name: 'x', ownerReferences: [OWNER] });
  expect(await carryOut([itemFor(object)])).toEqual(['command refused held']);
  state.hold = null;
  // It begins between the look at the object and the deed.
  api.fault = () => {
    state.hold = 'it is not there';
    return null;
  };
  const command = order([itemFor(object)]);
  give(command);
  expect(await done(command)).toEqual(['refused held']);
  expect(api.writes).toEqual([]);
  api.fault = () => null;
  state.hold = null;
  expect(await carryOut([itemFor(object)])).toEqual(['removed']);
});
