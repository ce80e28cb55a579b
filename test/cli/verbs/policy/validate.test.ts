import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { fleetgc, inProcess } from '../../fleetgc.ts';

function policyFile(text: string): string {
  const path = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(path, text);
  return path;
}

test('a good file: what it holds, on stdout', async () => {
  const path = policyFile(
    'name: web\nmode: enforce\nselector: {clusters: [prod]}\n---\nname: all\nmode: dry-run\n',
  );

  expect(await inProcess(['policy', 'validate', path])).toEqual({
    exitCode: 0,
    stdout: [
      'NAME   MODE      PRIORITY   IMAGES       NODES',
      'web    enforce   0          85% to 80%   cluster prod',
      'all    dry-run   0          85% to 80%   all nodes',
      '',
    ].join('\n'),
    stderr: '',
  });
});

test('[B12] a bad file: two errors at once with line and column, and exit code 2', async () => {
  const path = policyFile('name: web\nmode: on\nimageGCHighThresholdPercent: 85%\n');

  expect(await inProcess(['policy', 'validate', path])).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: [
      `${path}:2:7: mode: must be dry-run (decide and record, remove nothing) or enforce`,
      `${path}:3:30: imageGCHighThresholdPercent: must be a whole number from 0 to 100, without a percent sign`,
      'fleetgc policy validate: 2 problems; nothing in these files can be applied',
      '',
    ].join('\n'),
  });
});

test('a bad file for machines: the problems as data on stdout', async () => {
  const path = policyFile('name: web\nmode: enforce\nimageGCLowThresholdPercent: 85\n');
  const { exitCode, stdout } = await inProcess(['policy', 'validate', path, '-o', 'json']);

  expect(exitCode).toBe(2);
  expect(JSON.parse(stdout)).toEqual({
    valid: false,
    problems: [
      {
        file: path,
        line: 3,
        column: 29,
        path: 'imageGCLowThresholdPercent',
        message: 'must be below imageGCHighThresholdPercent, which is 85 by default',
      },
    ],
  });
});

test('a file that is not there is one problem among those of the others', async () => {
  const stdin = 'name: web\nmode: dry\n';
  const { exitCode, stdout, stderr } = await fleetgc(['policy', 'validate', '/no/such/policy.yaml', '-'], {
    stdin,
  });

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr.split('\n')).toEqual([
    '/no/such/policy.yaml:1:1: cannot be read: there is no such file',
    'stdin:2:7: mode: must be dry-run (decide and record, remove nothing) or enforce',
    'fleetgc policy validate: 2 problems; nothing in these files can be applied',
    '',
  ]);
});

test('standard input, and a note that does not make the file wrong', async () => {
  const stdin = 'name: web\nmode: enforce\nimageMinimumGCAge: 0s\n';
  const { exitCode, stdout, stderr } = await fleetgc(['policy', 'validate', '-'], { stdin });

  expect(exitCode).toBe(0);
  expect(stdout).toContain('web');
  expect(stderr).toBe(
    'warning: stdin:3:20: imageMinimumGCAge: zero means the default, 2m, as it does to the kubelet; -1s means no minimum age\n',
  );
});
