import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../../../support/program.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { fleetgc, inProcess } from '../../fleetgc.ts';

const CONFIGURATION =
  'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nimageGCHighThresholdPercent: 75\nimageGCLowThresholdPercent: 70\ncgroupDriver: systemd\n';

function file(text: string): string {
  const path = join(temporaryDirectory(), 'kubelet.yaml');
  writeFileSync(path, text);
  return path;
}

test('a policy on stdout, what became of the file on stderr', async () => {
  expect(await fleetgc(['policy', 'from-kubelet', '-'], { stdin: CONFIGURATION })).toEqual({
    exitCode: 0,
    stdout: [
      'name: kubelet',
      'mode: dry-run',
      'profile: kubelet',
      'imageGCHighThresholdPercent: 75',
      'imageGCLowThresholdPercent: 70',
      '',
    ].join('\n'),
    stderr: [
      'Taken over:',
      '  imageGCHighThresholdPercent: 75',
      '  imageGCLowThresholdPercent: 70',
      'Ignored, having no meaning for garbage collection:',
      '  CPU, memory and process ids: cgroupDriver',
      '',
    ].join('\n'),
  });
});

test('[B1] with all options; what it prints can be validated', async () => {
  const { stdout } = await inProcess([
    'policy',
    'from-kubelet',
    file(CONFIGURATION),
    ...['--name', 'workers', '--mode', 'enforce', '--profile', 'fleetgc'],
    ...['--minimum-container-ttl-duration', '1m', '--maximum-dead-containers-per-container', '2'],
    ...['--maximum-dead-containers', '-1'],
  ]);

  expect(stdout).toMatch(/^name: workers\nmode: enforce\nprofile: fleetgc\n/);
  expect(stdout).toContain(
    'minimumContainerTTLDuration: 1m\nmaximumDeadContainersPerContainer: 2\nmaximumDeadContainers: -1\n',
  );
  expect(await inProcess(['policy', 'validate', file(stdout)])).toMatchObject({ exitCode: 0, stderr: '' });
});

test('[B1] durations of less than a millisecond are taken over, as a kubelet takes them', async () => {
  const { exitCode, stdout } = await inProcess([
    'policy',
    'from-kubelet',
    file(`${CONFIGURATION}imageMinimumGCAge: 500us\nimageMaximumGCAge: 1h0.5ms\n`),
  ]);

  expect(exitCode).toBe(0);
  expect(stdout).toContain('imageMinimumGCAge: ');
  expect(await inProcess(['policy', 'validate', file(stdout)])).toMatchObject({ exitCode: 0, stderr: '' });
});

test('[B12] wrong values: all at once, no policy, exit code 2', async () => {
  const path = file(`${CONFIGURATION}imageMinimumGCAge: 5\nimageMaximumGCAge: -1s\n`);

  expect(await inProcess(['policy', 'from-kubelet', path])).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: [
      `${path}:6:20: imageMinimumGCAge: must be a duration with a unit, such as 90s, 1m30s or 24h`,
      `${path}:7:20: imageMaximumGCAge: must not be negative`,
      'fleetgc policy from-kubelet: 2 problems; no policy was made',
      '',
    ].join('\n'),
  });
});

test('[B12] unknown fields are told beside wrong values', async () => {
  const path = file(`${CONFIGURATION}imageMinimumGcAge: 3m\nimageMaximumGCAge: -1s\n`);

  expect((await inProcess(['policy', 'from-kubelet', path])).stderr).toBe(
    [
      'warning: imageMinimumGcAge is no field of KubeletConfiguration that FleetGC knows, and was ignored; did you mean imageMinimumGCAge?',
      `${path}:7:20: imageMaximumGCAge: must not be negative`,
      'fleetgc policy from-kubelet: 1 problem; no policy was made',
      '',
    ].join('\n'),
  );
});

test.each([
  { what: 'another kind', text: 'apiVersion: v1\nkind: Pod\nspec: {}\n' },
  { what: 'no kind', text: 'spec: {}\n' },
  { what: 'a list', text: '- a\n' },
  { what: 'a broken file', text: 'a: [\n' },
])('fields of a file that is no KubeletConfiguration are not gone through: $what', async ({ text }) => {
  const { exitCode, stderr } = await inProcess(['policy', 'from-kubelet', file(text)]);

  expect(exitCode).toBe(2);
  expect(stderr).not.toContain('warning');
});

test.each([
  { option: '--maximum-dead-containers', value: '1.5', says: 'must be a whole number' },
  { option: '--maximum-dead-containers', value: '2147483648', says: 'does not fit 32 bits' },
  { option: '--minimum-container-ttl-duration', value: '-1s', says: 'must be a duration of 0s or more' },
  { option: '--name', value: 'Web', says: 'must be 1 to 63 lower-case letters' },
])('[B13] $option $value is refused', async ({ option, value, says }) => {
  const { exitCode, stderr } = await inProcess([
    'policy',
    'from-kubelet',
    file(CONFIGURATION),
    option,
    value,
  ]);

  expect(exitCode).toBe(2);
  expect(stderr).toContain(`${option} ${says}`);
});

test('a file that is not there', async () => {
  expect(await inProcess(['policy', 'from-kubelet', '/no/such.yaml'])).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'fleetgc policy from-kubelet: /no/such.yaml cannot be read: there is no such file\n',
  });
});

test('in a pipeline, where the next command waits for what it prints', async () => {
  const pipeline = '"$0" policy from-kubelet "$1" | "$0" policy validate - -o json';
  const { stdout } = await promisify(execFile)('sh', ['-c', pipeline, PROGRAM, file(CONFIGURATION)], {
    env: PROGRAM_ENVIRONMENT,
  });

  expect(JSON.parse(stdout)).toMatchObject({ valid: true, policies: [{ policy: { profile: 'kubelet' } }] });
});
