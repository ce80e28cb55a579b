import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { canInstall, install } from './apt.ts';
import { cacheDirectory } from './cache.ts';
import { run, succeeds } from './command.ts';
import { buildGoPrograms, type Go } from './go.ts';
import { withLock } from './lock.ts';
import { step } from './progress.ts';
import { CRIO_VERSION } from './versions.ts';

const LOCK_MS = 1_800_000;
const QUICK_MS = 30_000;
const MODULE = 'github.com/cri-o/cri-o';
/** Without C, and without what needs it: seccomp, which a test node does without, and other drivers than overlay. */
const TAGS = [
  'containers_image_ostree_stub',
  'containers_image_openpgp',
  'exclude_graphdriver_btrfs',
  'btrfs_noversion',
];

/** A folder with CRI-O and its pinns, which keeps the namespaces of pods; statically linked, built once for each version. */
export async function builtCrio(): Promise<string> {
  const folder = join(cacheDirectory(`crio-${CRIO_VERSION}-${process.arch}`), 'bin');
  if (existsSync(folder)) return folder;
  await withLock('crio', LOCK_MS, async () => {
    if (existsSync(folder)) return;
    await ensureCompiler();
    await step(`building CRI-O ${CRIO_VERSION} from its Go module (some minutes, once)`, () =>
      buildGoPrograms('crio', folder, compile),
    );
  });
  return folder;
}

const Download = z.object({ Dir: z.string() });

async function compile(go: Go, module: string): Promise<void> {
  const { stdout } = await go('mod', 'download', '-json', `${MODULE}@v${CRIO_VERSION}`);
  const { Dir: sources } = Download.parse(JSON.parse(stdout));
  // Some of what it is made of is in no public list of checksums: its own says what they must be.
  copyFileSync(join(sources, 'go.sum'), join(module, 'go.sum'));
  await go('get', '-tool', `${MODULE}/cmd/crio@v${CRIO_VERSION}`);
  await go(
    ...['build', '-trimpath', '-ldflags', '-s -w', '-tags', TAGS.join(' '), '-o', 'bin/'],
    `${MODULE}/cmd/crio`,
  );
  await compilePinns(join(sources, 'pinns', 'src'), join(module, 'bin', 'pinns'));
}

async function compilePinns(sources: string, program: string): Promise<void> {
  const version = `-DVERSION="${CRIO_VERSION}"`;
  const files = ['pinns.c', 'sysctl.c'].map((name) => join(sources, name));
  await run('gcc', ['-std=c99', '-Os', '-static', version, '-o', program, ...files], { usualMs: QUICK_MS });
}

async function ensureCompiler(): Promise<void> {
  if (await succeeds('gcc', ['--version'], QUICK_MS)) return;
  if (!canInstall())
    throw new Error(
      'a node with CRI-O needs its pinns, which is built with gcc: install gcc and the headers of libc',
    );
  await install(['gcc', 'libc6-dev']);
}
