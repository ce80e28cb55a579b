import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** By file what one verb answers of the recorded fleet, in a process as `npm run record:verbs` starts it. */
async function recorded(verb: string): Promise<Readonly<Record<string, string>>> {
  const to = join(temporaryDirectory(), 'answers');
  const machine = join(import.meta.dirname, 'stopped-machine.ts');
  const program = join(import.meta.dirname, 'main.ts');
  await promisify(execFile)(process.execPath, ['--import', machine, program, '--to', to, '--only', verb]);
  return Object.fromEntries(
    readdirSync(join(to, verb)).map((file) => [file, readFileSync(join(to, verb, file), 'utf8')]),
  );
}

test('a verb answers twice with the same bytes, and of the fleet that was recorded', async () => {
  const [once, again] = [await recorded('verbs/nodes'), await recorded('verbs/nodes')];
  expect(again).toEqual(once);
  expect(once['nodes_-o_json.txt']).toContain('"node": "web-1"');
});
