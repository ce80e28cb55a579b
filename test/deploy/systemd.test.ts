import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { REPOSITORY, textOf, verbNamed } from './files.ts';
import { unknownLines } from './systemd-directives.ts';

const PREFIX = '/opt/fleetgc/';
const units = readdirSync(join(REPOSITORY, 'deploy/systemd')).filter((file) => file.endsWith('.service'));

const setting = (unit: string, name: string): string =>
  new RegExp(`^${name}=(.*)$`, 'm').exec(textOf(`deploy/systemd/${unit}`))?.[1] ?? '';

/** By unit: the capabilities without which it cannot do its work. Root needs none for what root owns. */
const CAPABILITIES: Readonly<Record<string, string>> = {
  'fleetgc-decide.service': '',
  'fleetgc-dashboard.service': '',
  'fleetgc-notify.service': '',
  'fleetgc-node.service': '',
  'fleetgc-cri-proxy.service': '',
  'fleetgc-node-agent.service': '',
  // A state directory that belongs to the agent.
  'fleetgc-node-executor.service': 'CAP_DAC_OVERRIDE',
};
const SHUT_IN = [
  'NoNewPrivileges=true',
  'ProtectHome=true',
  'ProtectKernelTunables=true',
  'ProtectKernelModules=true',
  'ProtectControlGroups=true',
  'PrivateTmp=true',
  'PrivateDevices=true',
  'RestrictNamespaces=true',
  'RestrictSUIDSGID=true',
  'SystemCallArchitectures=native',
  'SystemCallFilter=@system-service',
  'SystemCallFilter=~@privileged @keyring',
];

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

/** What `systemd-analyze verify` says of a unit whose program lies where this checkout has it. */
function complaintsOfSystemd(unit: string): readonly string[] {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-unit-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, unit);
  writeFileSync(path, textOf(`deploy/systemd/${unit}`).replaceAll(PREFIX, `${REPOSITORY}/`));
  const { stderr, error } = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' });
  if (error) throw error;
  // It also loads what the unit refers to; of that only what names this unit is ours.
  return stderr.split('\n').filter((line) => line.includes(unit));
}

test.each([
  { line: 'RestartSecs=5', unknown: ['[Service] RestartSecs'] },
  { line: 'restartsec=5', unknown: ['[Service] restartsec'] },
  { line: 'WantedBy=multi-user.target', unknown: ['[Service] WantedBy'] },
  { line: 'RestartSec', unknown: ['[Service] RestartSec'] },
  { line: '[Servce]\nRestartSec=5', unknown: ['[Servce]', '[Servce] RestartSec'] },
  { line: '# RestartSecs=5\nRestartSec=5', unknown: [] },
])('$line in a unit is found out: $unknown', ({ line, unknown }) => {
  expect(unknownLines(`[Service]\nRestart=always\n${line}\n`)).toEqual(unknown);
});

describe.each(units)('%s', (unit) => {
  const [program = '', ...verb] = setting(unit, 'ExecStart')
    .replace(/ --.*$/, '')
    .split(' ');

  test('starts what is in the package', () => {
    expect(program.startsWith(PREFIX)).toBe(true);
    expect(existsSync(join(REPOSITORY, program.slice(PREFIX.length)))).toBe(true);
    expect(existsSync(join(REPOSITORY, setting(unit, 'Documentation').replace(`file:${PREFIX}`, '')))).toBe(
      true,
    );
  });

  test('gives it the time that a stop may take', () => {
    const limitMs = verbNamed(verb.join(' ')).shutdownLimitMs;
    expect(Number(setting(unit, 'TimeoutStopSec')) * 1000).toBeGreaterThanOrEqual(limitMs);
  });

  test('has only directives that systemd knows in their section', () => {
    expect(unknownLines(textOf(`deploy/systemd/${unit}`))).toEqual([]);
  });

  // The list is our word; where systemd is installed, it has its say too.
  if (hasSystemd) {
    test('is a unit that systemd itself finds nothing wrong with', () => {
      expect(complaintsOfSystemd(unit)).toEqual([]);
    });
  }

  test('has the capabilities that it needs, and what shuts it in', () => {
    const text = textOf(`deploy/systemd/${unit}`);
    expect(setting(unit, 'CapabilityBoundingSet')).toBe(CAPABILITIES[unit]);
    expect(setting(unit, 'ProtectSystem')).toBe('strict');
    for (const line of SHUT_IN) expect(text.split('\n')).toContain(line);
  });

  test('reads the environment file that comes with it, and does not repeat what wrong options say', () => {
    expect(setting(unit, 'EnvironmentFile')).toBe('/etc/fleetgc/fleetgc.env');
    expect(setting(unit, 'RestartPreventExitStatus')).toBe('2');
  });
});

test('the unit of a node lets it write where it must, and nowhere else', () => {
  const options = verbNamed('node').options;
  const standard = (key: string): string => options.find((option) => option.key === key)?.default ?? '';
  const unit = 'fleetgc-node.service';

  expect(`/var/lib/${setting(unit, 'StateDirectory')}`).toBe(standard('stateDirectory'));
  expect(setting(unit, 'ReadWritePaths').split(' ')).toEqual([
    `-${standard('podLogsDir')}`,
    `-${standard('containerLogsDir')}`,
  ]);
});

test('an agent by itself is not root, cannot reach the socket of the runtime, and asks the proxy', () => {
  const unit = 'fleetgc-node-agent.service';
  const text = textOf(`deploy/systemd/${unit}`);
  const standard = (verb: string, key: string): string =>
    verbNamed(verb).options.find((option) => option.key === key)?.default ?? '';

  expect(setting(unit, 'User')).toBe('fleetgc');
  expect(setting(unit, 'ExecStart')).toContain(
    ` --runtime-endpoint unix://${standard('cri-proxy', 'proxySocket')}`,
  );
  for (const socket of [standard('node', 'runtimeEndpoint').replace('unix://', ''), '/run/crio/crio.sock'])
    expect(text).not.toMatch(new RegExp(`^Bind.*${dirname(socket)}(?: |$)`, 'm'));
});

/** Who holds the runtime's socket is as good as root, and no list of files would keep anything from it (SECURITY.md). */
const AS_GOOD_AS_ROOT = [
  'fleetgc-cri-proxy.service',
  'fleetgc-node-executor.service',
  'fleetgc-node.service',
];

test('every unit that is not as good as root is no root, and sees an allow list in an empty root', () => {
  const roots = units.filter((unit) => setting(unit, 'RootDirectory') === '');
  expect(roots.toSorted()).toEqual(AS_GOOD_AS_ROOT);
  for (const unit of units.filter((each) => !roots.includes(each))) {
    const text = textOf(`deploy/systemd/${unit}`);
    expect(setting(unit, 'User')).toMatch(/^fleetgc/);
    expect(setting(unit, 'RootDirectory')).toBe('%t/%p-root');
    // Nothing of it is all of a machine's state, settings or users, or a socket of a runtime.
    expect(text).not.toMatch(
      /^Bind\w*=.*[ =-](\/|\/etc|\/var|\/var\/lib|\/var\/lib\/kubelet|\/run|\/run\/(?:containerd|crio|k3s)|\/root|\/home)(?: |$)/m,
    );
    // All that one of them writes is its own state.
    const state = setting(unit, 'StateDirectory');
    expect(setting(unit, 'BindPaths')).toBe(state === '' ? '' : `/var/lib/${state}`);
    expect(text).not.toContain('ReadWritePaths');
  }
});

test('the proxy offers its socket to the group of the agent, where only that group gets in', () => {
  const unit = 'fleetgc-cri-proxy.service';
  const offered = verbNamed('cri-proxy').options.find(({ key }) => key === 'proxySocket')?.default ?? '';

  expect(setting(unit, 'Group')).toBe(setting('fleetgc-node-agent.service', 'Group'));
  expect(`/run/${setting(unit, 'RuntimeDirectory')}`).toBe(dirname(offered));
  expect(setting(unit, 'RuntimeDirectoryMode')).toBe('0750');
  expect(setting(unit, 'RestrictAddressFamilies')).toBe('AF_UNIX');
});

test('signatures are required; only what decides has a key, which systemd gives to it alone', () => {
  const environment = textOf('deploy/systemd/fleetgc.env').split('\n');
  const keyed = units.filter((unit) =>
    /LoadCredential=.*\.pem|SIGNING_KEY/.test(textOf(`deploy/systemd/${unit}`)),
  );
  const unit = 'fleetgc-decide.service';
  const [credential = '', file] = setting(unit, 'LoadCredential').split(':');

  expect(environment).toContain('FLEETGC_TRUST=required');
  expect(environment).toContain('FLEETGC_TRUST_ROOTS=/etc/fleetgc/roots.yaml');
  expect(environment.filter((line) => line.includes('SIGNING_KEY'))).toEqual([]);
  expect(keyed).toEqual([unit]);
  expect(file).toBe('/etc/fleetgc/decider.pem');
  // Root reads every file, and so does an agent that reads past closed directories.
  const closed = units.filter((each) =>
    textOf(`deploy/systemd/${each}`).includes(`\nInaccessiblePaths=-${file}\n`),
  );
  expect([...closed, unit].toSorted()).toEqual(units.toSorted());
  expect(setting(unit, 'Environment')).toBe(
    `${variableOf('decide', 'signingKeyFile')}=%t/credentials/%n/${credential}`,
  );
});

test('the unit of the dashboard only looks, has whoever looks sign in, and writes to its tables alone', () => {
  const unit = 'fleetgc-dashboard.service';
  const command = setting(unit, 'ExecStart');
  const [credential = '', file] = setting(unit, 'LoadCredential').split(':');

  expect(command).toContain(` --projection /var/lib/${setting(unit, 'StateDirectory')}/`);
  expect(command).not.toContain('--allow-actions');
  expect(command).toContain(' --trust off ');
  expect(command).not.toContain('--http-address');
  expect(file).toBe('/etc/fleetgc/dashboard-tokens');
  expect(setting(unit, 'Environment')).toBe(
    `${variableOf('dashboard', 'tokenFile')}=%t/credentials/%n/${credential}`,
  );
  for (const each of [unit, 'fleetgc-notify.service'])
    expect(textOf(`deploy/systemd/${each}`)).not.toContain('ReadWritePaths');
});

test('nobody else is the user of what has a key: as the same user one reads what the other sees, by /proc', () => {
  const userOf = (unit: string): string => setting(unit, 'User') || 'root';
  const unit = 'fleetgc-decide.service';
  const others = units.filter((each) => each !== unit).map(userOf);
  expect(userOf(unit)).not.toBe('root');
  expect(others).not.toContain(userOf(unit));
  expect(textOf('docs/operating/install.md')).toContain(`nologin ${userOf(unit)}`);
});

const variableOf = (verb: string, key: string): string =>
  verbNamed(verb).options.find((option) => option.key === key)?.variable ?? '';
