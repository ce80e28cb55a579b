import { chmodSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { connectReader } from '../../packages/cri/client.ts';
import { testLabels } from '../support/cleanup.ts';
import { type ContainerdNode, startContainerdNode } from '../support/nodes/containerd-node.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run, succeeds } from '../support/toolchain/command.ts';
import { ensureToolchain } from '../support/toolchain/toolchain.ts';
import { SERVICE_IMAGE } from '../support/toolchain/versions.ts';
import { waitUntil } from '../support/wait-until.ts';
import { workloads } from './chart/objects.ts';

const DOCKER_MS = 60_000;
const REMOVED_MS = 60_000;
/** The disk of the machine that runs this is never empty. */
const POLICY = `
name: all
mode: enforce
imageGCHighThresholdPercent: 1
imageGCLowThresholdPercent: 0
imageMinimumGCAge: -1s
keep:
  unpullable: false
`;

/**
 * Options of `docker run` that leave a container what the manifest leaves the node. The manifest names no profile of its
 * own but the runtime's default, and so does Docker where nothing is said.
 */
function asDeployed(): readonly string[] {
  const [node] = workloads.filter(({ kind }) => kind === 'DaemonSet');
  if (node === undefined) throw new Error('there is no DaemonSet');
  const { securityContext: context } = node.spec.template.spec.containers[0];
  expect(context).toEqual({
    runAsUser: 0,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  });
  const rights = ['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
  return ['--user', String(context.runAsUser), '--read-only', ...rights];
}

const docker = (...args: readonly string[]) => run('docker', args, { usualMs: DOCKER_MS });
const labels = Object.entries(testLabels()).flatMap(([key, value]) => ['--label', `${key}=${value}`]);

beforeAll(() => ensureToolchain(['service']));

/** What the node may see of its machine, where the manifest has it. */
function mountsOf({ endpoint }: ContainerdNode, disk: string): readonly string[] {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'policy.yaml'), POLICY);
  writeFileSync(join(directory, 'machine-id'), '3d1219c7c4c5404aaa1f6d2a48adfda4\n');
  const sockets = dirname(endpoint.replace('unix://', ''));
  for (const path of [directory, sockets]) chmodSync(path, 0o755);
  const mounts = [
    `${sockets}:/run/containerd`,
    `${disk}/containerd:/var/lib/containerd:ro`,
    `${directory}/machine-id:/etc/machine-id:ro`,
    `${directory}/policy.yaml:/etc/fleetgc/policy.yaml:ro`,
  ];
  const inMemory = ['/var/lib/fleetgc:mode=700', '/var/log/pods', '/var/log/containers'];
  return [
    ...mounts.flatMap((mount) => ['--volume', mount]),
    ...inMemory.flatMap((folder) => ['--tmpfs', folder]),
  ];
}

test('with the rights of the manifest and no other, agent and executor remove an image of a real containerd', async () => {
  const disk = temporaryDirectory();
  await using node = await startContainerdNode({ name: 'shut-in', diskDirectory: disk });
  const image = await node.importImage({ name: 'registry.example/tool:1' });
  using reader = connectReader(node.endpoint);
  const isThere = async () => (await reader.listImages()).some(({ id }) => id === image);
  expect(await isThere()).toBe(true);

  const verb = ['run', '--policy', '/etc/fleetgc/policy.yaml'];
  const options = [...labels, ...asDeployed(), '--network', 'none', ...mountsOf(node, disk)];
  const { stdout } = await docker('run', '--detach', ...options, SERVICE_IMAGE, ...verb);
  const id = stdout.trim();
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => void (await docker('rm', '--force', id)));
  const outputOf = async () => (await docker('logs', id)).output;
  await waitUntil('the image to go', REMOVED_MS, async () => !(await isThere())).catch(async (error) => {
    throw new Error(await outputOf(), { cause: error });
  });

  const { stdout: status } = await docker('exec', id, 'cat', '/proc/1/status');
  expect(status).toMatch(/^CapEff:\t0+$/m);
  expect(status).toMatch(/^CapBnd:\t0+$/m);
  expect(status).toMatch(/^NoNewPrivs:\t1$/m);
  // Filtered by a profile.
  expect(status).toMatch(/^Seccomp:\t2$/m);
  expect(await outputOf()).not.toMatch(/EACCES|EPERM|EROFS|not permitted|permission denied/i);
});

/** The number of `keyctl`, which no tool of the image calls. */
const KEYCTL = { x64: 250, arm64: 219 }[process.arch as string] ?? null;
/** What a program would need to break out, and needs no capability. */
const CALLS: readonly (readonly [call: string, command: readonly string[]])[] = [
  ['unshare', ['unshare', '--user', 'true']],
  ['personality', ['setarch', '--addr-no-randomize', 'true']],
  ...(KEYCTL === null
    ? []
    : ([['keyctl', ['perl', '-e', `exit(syscall(${KEYCTL}, 0, -3, 1) < 0)`]]] as const)),
];

test.each(CALLS)('the profile denies %s, which nothing else denies', async (_, [program = '', ...args]) => {
  const called = (...more: readonly string[]): Promise<boolean> => {
    const options = [...labels, ...asDeployed(), ...more, '--network', 'none', '--entrypoint', program];
    return succeeds('docker', ['run', '--rm', ...options, SERVICE_IMAGE, ...args], DOCKER_MS);
  };
  expect(await called('--security-opt', 'seccomp=unconfined')).toBe(true);
  expect(await called()).toBe(false);
});

test('its files are read-only, and its own mounts are all that it makes', async () => {
  const tryTo = (command: string): Promise<boolean> =>
    succeeds(
      'docker',
      ['run', '--rm', ...labels, ...asDeployed(), '--entrypoint', 'sh', SERVICE_IMAGE, '-c', command],
      DOCKER_MS,
    );
  expect(await tryTo('true')).toBe(true);
  expect(await tryTo('touch /opt/fleetgc/here')).toBe(false);
  expect(await tryTo('mount -t tmpfs none /mnt')).toBe(false);
  expect(await tryTo('chown node /dev/shm')).toBe(false);
});
