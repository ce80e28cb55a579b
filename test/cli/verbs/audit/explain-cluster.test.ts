import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { generateJsonSchemas } from '../../../../schemas/generate.ts';
import { candidate, owner, ownership } from '../../../fixtures/ownership.ts';
import { begun, commandIn } from '../../../packages/audit/support/cluster-history.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { inProcess, type OwnLog, ownLog } from '../../fleetgc.ts';

const WENT = owner('o', { state: 'gone', gone: { how: 'watched', orphaned: false } });
const doomed = (uid: string, namespace = 'ns') =>
  candidate({ object: { uid, namespace }, references: [WENT] });

/** `x` of namespace `ns` went twice, and another one of the name is there. */
async function recorded(): Promise<OwnLog> {
  const log = begun();
  for (const uid of ['uid-1', 'uid-2']) {
    const { command } = log.decide(ownership({ id: `fact-${uid}`, candidates: [doomed(uid)] }));
    log.carryOut(commandIn(command));
  }
  log.decide(ownership({ id: 'fact-3', candidates: [doomed('uid-3', 'other')] }));
  const own = await ownLog();
  await own.log.publish(log.records.map(({ key, ...record }) => ({ ...record, key: key ?? '' })));
  return own;
}

test('for people: each object that had the name, and what became of it', async () => {
  const { run } = await recorded();
  const { exitCode, stdout, stderr } = await run('audit', 'explain', 'ConfigMap/ns/x');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(/^ConfigMap ns\/x of cluster c1: 2 objects had this name, one after the other\n/);
  expect(stdout).toContain('uid uid-1: deleted by FleetGC, since nobody owns it any more (D14).');
  expect(stdout).toContain('uid uid-2: deleted by FleetGC');
  expect(stdout).toMatch(
    /Z +candidate +owner ConfigMap name-o \(o\) is gone: the watch told its deletion; dependents 0/,
  );
  expect(stdout).toMatch(
    /Z +to go +delete it: nobody owns it any more \(D14: .*\) under policy default, version 1/,
  );
  expect(stdout).toMatch(/Z +command +delete it, Background \(D14\) within 600 s/);
  expect(stdout).toMatch(/Z +removed +deleted by FleetGC \(D14\); 1 request/);
});

test('a name of several kinds or places lists them, and --cluster makes any name that of an object', async () => {
  const { run } = await recorded();
  const several = await run('audit', 'explain', 'x', '--cluster', 'c1');
  expect(several.exitCode).toBe(2);
  expect(several.stdout).toMatch(/^ConfigMap\/ns\/x +c1 +uid-1 .* removed$/m);
  expect(several.stdout).toMatch(/^ConfigMap\/other\/x +c1 +uid-3 .* there$/m);
  expect(several.stderr).toContain('x means 3 things: to choose one, ask for it by the first column');
  expect((await run('audit', 'explain', 'ConfigMap/ns/x', '--cluster', 'other')).stderr).toContain(
    'there is no record of cluster other on the event log',
  );
  const unknown = await run('audit', 'explain', 'ConfigMap/ns/y');
  expect(unknown.exitCode).toBe(1);
  expect(unknown.stderr).toContain(
    'only objects are told for which something may have to be done; there is x',
  );
  expect((await run('audit', 'explain', 'Pod/a/b', '--node', 'n')).exitCode).toBe(2);
});

test('an archive tells the same, of one cluster and of all', async () => {
  const { run } = await recorded();
  const directory = join(temporaryDirectory(), 'archive');
  expect(await run('audit', 'archive', '--to', directory)).toMatchObject({ exitCode: 0 });
  const { stdout } = await run('audit', 'explain', 'ConfigMap/ns/x');
  const ask = ['audit', 'explain', 'ConfigMap/ns/x', '--log', 'archive', '--archive', directory];
  const ofOne = await inProcess([...ask, '--cluster', 'c1']);
  expect([ofOne.stdout, (await inProcess(ask)).stdout]).toEqual([stdout, stdout]);
});

test('for programs: one document, or an entry a line, by their schemas', async () => {
  const { run } = await recorded();
  const ajv = new Ajv2020({ strict: false });
  const schemaOf = (name: string): object =>
    JSON.parse(generateJsonSchemas().get(`${name}.schema.json`) ?? '');
  const isWhole = ajv.compile(schemaOf('cluster-explanation'));
  const isLine = ajv.compile(schemaOf('cluster-explanation-line'));
  for (const name of ['ConfigMap/ns/x', 'ConfigMap/x', 'ConfigMap/none']) {
    const whole = await run('audit', 'explain', name, '-o', 'json');
    expect(isWhole(JSON.parse(whole.stdout)), JSON.stringify(isWhole.errors)).toBe(true);
    const lines = (await run('audit', 'explain', name, '-o', 'ndjson')).stdout.split('\n').slice(0, -1);
    for (const line of lines) expect(isLine(JSON.parse(line)), JSON.stringify(isLine.errors)).toBe(true);
  }
});
