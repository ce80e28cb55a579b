import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const REPOSITORY = join(import.meta.dirname, '../../..');
const PRODUCT = ['packages', 'services', 'cli', 'lab/demo', 'lab/sim'].map(
  (room) => `${room}/**/*.{ts,tsx,mts,mjs,js}`,
);
/** Where files that others may have put there are opened. */
const THE_WAY = 'packages/files/';
const MODULES = /^(node:)?(fs|fs\/promises|sqlite)$/;

/** What opens nothing and makes nothing. */
const HARMLESS =
  /^(constants|watch|existsSync|access(Sync)?|l?stat(Sync)?|statfs(Sync)?|readdir(Sync)?|readlink(Sync)?|realpath(Sync)?|rm(Sync)?|rmdir(Sync)?|unlink(Sync)?|Dirent|Stats|BigIntStats|BigIntStatsFs|FSWatcher|FileHandle|mkdtemp(Sync)?)$/;

/** Reads what an operator, the system or the release itself put there: a link there is theirs, and the content is bounded and checked. */
const READING = new Map<string, string>([
  ['packages/process/options/named-file.ts', 'files that options name'],
  ['packages/process/options/named-file.ts', 'keys that options name'],
  ['packages/cri/kubelet/kubelet-pods.ts', 'a mounted token'],
  ['packages/machine/clock.ts', '/proc'],
  ['packages/machine/machine-id.ts', '/etc/machine-id'],
  ['packages/log/kafka/client/options.ts', 'a file that an option names'],
  ['packages/log/kafka/client/options.ts', 'a mounted token'],
  ['packages/records/trust/roots-file.ts', 'a file that an option names'],
  ['packages/kube-api/kubeconfig.ts', 'a file that an option names'],
  ['packages/kube-api/access.ts', 'a mounted token'],
  ['packages/records/dead-letters/crash-marks.ts', 'by a descriptor'],
  ['packages/machine/lock-holders.ts', '/proc'],
  ['packages/audit/deciders/deciders.ts', 'of the release'],
  ['packages/archive/archive-writer.ts', 'in a temporary directory of its own'],
  ['packages/archive/directory-store.ts', 'by a descriptor'],
  ['services/node/cri-proxy/options.ts', '/etc/group'],
  ['services/node/executor/local-rules.ts', 'node.yaml'],
  ['services/node/executor/pod-logs.ts', 'directories by their descriptors'],
  ['services/cluster/executor/command-checks.ts', 'the mounted cluster.yaml'],
  ['services/deciders/functions/policies/document-source.ts', 'the mounted document of policies'],
  ['services/dashboard/api/page-files.ts', 'of the release'],
]);
const READS = /^(readFile(Sync)?|read(Sync)?|createReadStream|open(Sync)?|close(Sync)?|fstat(Sync)?)$/;

/** Writes in its own way, with the names that it may use. */
const WRITING = new Map<string, RegExp>([
  // A descriptor that packages/files opened.
  ['packages/records/dead-letters/crash-marks.ts', /^ftruncateSync$/],
  ['packages/log/embedded/file.ts', /^fsyncSync$/],
  // Puts what is written whole in its place, in the same directory.
  ['packages/archive/directory-store.ts', /^renameSync$/],
  // A socket, in a directory that root alone may write to.
  ['packages/cri/proxy/reading-proxy.ts', /^(chmod|chown)$/],
  // A simulated node makes up the logs of its containers where the user says.
  ['lab/sim/node.ts', /^mkdir$/],
  ['lab/sim/workload.ts', /^mkdir$/],
  ['lab/sim/runtime/runtime.ts', /^(mkdir|open|symlink)$/],
]);

const IMPORT = /import\s+(type\s+)?([^;]*?)\s+from\s+['"]([^'"]+)['"]/g;

/** The names that a file takes as values from what opens files. */
function takenBy(text: string): readonly string[] {
  return [...text.matchAll(IMPORT)].flatMap(([, onlyTypes, clause = '', from = '']) => {
    if (onlyTypes !== undefined || !MODULES.test(from)) return [];
    const names = /^\{([\s\S]*)\}$/.exec(clause)?.[1];
    // All of it, under one name.
    if (names === undefined) return ['*'];
    return names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '' && !name.startsWith('type '))
      .map((name) => name.split(/\s+as\s+/)[0] ?? name);
  });
}

const isAllowed = (file: string, name: string): boolean =>
  HARMLESS.test(name) || (READING.has(file) && READS.test(name)) || (WRITING.get(file)?.test(name) ?? false);

const FILES = globSync(PRODUCT, {
  cwd: REPOSITORY,
  exclude: (path) => String(path).includes('node_modules'),
});
const OTHERS = FILES.filter((file) => !file.startsWith(THE_WAY));

test('files that others may have put there are opened by packages/files alone', () => {
  expect(OTHERS.length).toBeGreaterThan(500);
  const found = OTHERS.flatMap((file) =>
    takenBy(readFileSync(join(REPOSITORY, file), 'utf8'))
      .filter((name) => !isAllowed(file, name))
      .map((name) => `${file} takes ${name}`),
  );
  expect(found).toEqual([]);
});

test('nobody gets at them in another way', () => {
  const way = /(require|import|getBuiltinModule)\(\s*['"](node:)?(fs|sqlite)|process\.binding\(/;
  const found = OTHERS.filter((file) => way.test(readFileSync(join(REPOSITORY, file), 'utf8')));
  expect(found).toEqual([]);
});

test('each exception is still one', () => {
  const needless = [...READING.keys(), ...WRITING.keys()].filter((file) => {
    const taken = takenBy(readFileSync(join(REPOSITORY, file), 'utf8'));
    return taken.every((name) => HARMLESS.test(name));
  });
  expect(needless).toEqual([]);
});

test('the scan sees what it has to see', () => {
  expect(takenBy("import { writeFileSync as w, type Stats } from 'node:fs';")).toEqual(['writeFileSync']);
  expect(takenBy("import fs from 'fs';")).toEqual(['*']);
  expect(takenBy("import { DatabaseSync } from 'node:sqlite';")).toEqual(['DatabaseSync']);
  expect(takenBy("import type { DatabaseSync } from 'node:sqlite';")).toEqual([]);
});
