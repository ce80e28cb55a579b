import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { TOPICS } from '../../schemas/events/topics.ts';
import { ownLog } from '../cli/fleetgc.ts';
import { readTopic } from '../cli/read-topic.ts';
import { simulatedNode } from '../support/simulated-node.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { REPOSITORY, textOf } from './files.ts';

const BOUND_MS = 240_000;
const AGENT = 64_123;
const canMount =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'x', '/mnt']).status === 0;

interface Bind {
  readonly isOptional: boolean;
  readonly source: string;
  readonly target: string;
}

type Name = 'node-agent' | 'decide' | 'dashboard' | 'notify';
const linesOf = (unit: Name, name: string): readonly string[] =>
  [...textOf(`deploy/systemd/fleetgc-${unit}.service`).matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].flatMap(
    ([, value = '']) => value.split(' '),
  );
const bindsOf = (unit: Name, name: string): readonly Bind[] =>
  linesOf(unit, name).map((word) => {
    const path = word.replace(/^-/, '');
    const [source = path, target = source] = path.split(':');
    return { isOptional: word.startsWith('-'), source, target };
  });

/** As systemd does it: an empty root, and in it what the unit names. */
function script(unit: Name, root: string, moved: ReadonlyMap<string, string>, command: string): string {
  const mount = ({ source, target, isOptional }: Bind, options: string): string => {
    const from = moved.get(source) ?? source;
    // A simulated runtime names its own directory.
    const at = source === '/var/lib/containers/storage/overlay-images' ? from : target;
    return `bind ${from} ${root}${at} ${options} ${isOptional ? 'optional' : 'needed'}`;
  };
  return `set -eu
bind() {
  if [ ! -e "$1" ]; then [ "$4" = optional ] && return 0; echo "there is no $1" >&2; exit 1; fi
  if [ -d "$1" ]; then mkdir -p "$2"; else mkdir -p "$(dirname "$2")"; touch "$2"; fi
  mount --bind "$1" "$2"; mount -o "remount,bind,$3" "$2"
}
mount -t tmpfs -o mode=755 tmpfs ${root}
mkdir ${root}/proc ${root}/dev ${root}/tmp
mount --rbind /proc ${root}/proc
mount --rbind /dev ${root}/dev
${bindsOf(unit, 'BindReadOnlyPaths')
  .map((bind) => mount(bind, 'ro'))
  .join('\n')}
${bindsOf(unit, 'BindPaths')
  .map((bind) => mount(bind, 'rw'))
  .join('\n')}
mount -o remount,ro ${root}
exec chroot ${root} /usr/bin/setpriv --reuid=${AGENT} --regid=${AGENT} --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs sh -c '${command}'
`;
}

async function shutIn(unit: Name, command: string, moved: ReadonlyMap<string, string>): Promise<string> {
  const root = join(temporaryDirectory(), 'root');
  mkdirSync(root);
  const { promise, resolve } = Promise.withResolvers<string>();
  const args = ['--mount', '--propagation', 'private', 'sh', '-c', script(unit, root, moved, command)];
  execFile(
    'unshare',
    args,
    { timeout: BOUND_MS, env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' } },
    (_, out, err) => resolve(out + err),
  );
  return await promise;
}

async function machine() {
  const node = await simulatedNode({ hasContainerdApi: true });
  const own = await ownLog();
  const socket = node.endpoint.replace('unix://', '');
  const state = dirname(own.path);
  const logFiles = readdirSync(state).map((name) => join(state, name));
  for (const path of [state, ...logFiles, dirname(socket), socket]) chownSync(path, AGENT, AGENT);
  const secrets = temporaryDirectory();
  writeFileSync(join(secrets, 'decider.pem'), 'secret');
  chmodSync(secrets, 0o755);
  const moved = new Map([
    ['/opt/fleetgc', REPOSITORY],
    ['/run/fleetgc-cri', dirname(socket)],
    ['/var/lib/fleetgc', state],
    ['/var/log/pods', node.podLogsDir],
    ['/var/log/containers', node.containerLogsDir],
    ['/etc/fleetgc', secrets],
    ['/var/lib/kubelet/device-plugins', temporaryDirectory()],
  ]);
  moved.set('/var/lib/containers/storage/overlay-images', dirname(socket));
  return { own, socket, moved };
}

test.runIf(canMount)(
  'an agent sees nothing but what its unit names, and takes a whole inventory with that',
  async () => {
    const { own, socket, moved } = await machine();
    const name = socket.slice(dirname(socket).length + 1);
    const log = own.path.slice(dirname(own.path).length + 1);
    const said = await shutIn(
      'node-agent',
      `timeout 60 /opt/fleetgc/node_modules/.bin/node --disable-warning=ExperimentalWarning /opt/fleetgc/cli/main.ts node-agent \
--http-address none --trust off --cluster c --node-name n --runtime-endpoint unix:///run/fleetgc-cri/${name} \
--log embedded --log-path /var/lib/fleetgc/${log} --log-level debug 2>&1 | grep -m 1 -E "inventory complete|fatal" || echo nothing`,
      moved,
    );
    expect(said).toContain('inventory complete');
    expect(said).not.toMatch(/EACCES|permission denied/i);
    expect(await readTopic(own.log, TOPICS.inventory.name)).not.toEqual([]);
  },
  BOUND_MS,
);

test.runIf(canMount).each<Name>(['node-agent', 'decide', 'dashboard', 'notify'])(
  'whoever takes %s over reads no key, no other state, no container and no runtime, and the program starts',
  async (unit) => {
    const { moved } = await machine();
    moved.set('/var/lib/fleetgc-dashboard', temporaryDirectory());
    const started = await shutIn(
      unit,
      '/opt/fleetgc/node_modules/.bin/node --disable-warning=ExperimentalWarning /opt/fleetgc/cli/main.ts version 2>&1',
      moved,
    );
    expect(started).toContain('fleetgc ');
    const said = await shutIn(
      unit,
      'ls /; ls /etc /var/lib /var/log /run | tr "\\n" " "; cat /etc/shadow /root/x /var/lib/kubelet/pki/kubelet.key /run/containerd/containerd.sock 2>&1; ls /var/lib/kubelet; touch /x /etc/x /var/log/pods/x 2>&1; grep CapEff /proc/self/status',
      moved,
    );
    expect(said).toMatch(/CapEff:\s*0{16}\n/);
    for (const path of [
      '/etc/shadow',
      '/root/x',
      '/var/lib/kubelet/pki/kubelet.key',
      '/run/containerd/containerd.sock',
    ])
      expect(said).toMatch(new RegExp(`${path}.*(No such file|Permission denied)`));
    for (const path of ['/x', '/etc/x', '/var/log/pods/x'])
      expect(said).toMatch(new RegExp(`touch: cannot touch '${path}'`));
    for (const name of ['home', 'root', 'srv', 'boot', 'media', 'mnt', 'work'])
      expect(said.split('\n')).not.toContain(name);
  },
  BOUND_MS,
);
