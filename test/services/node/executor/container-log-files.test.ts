import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type FoundLogFiles,
  findLogFiles,
  flatSymlink,
  foreignLogPath,
  openDirectory,
  type PodLogAccess,
  removeLogFiles,
  unsafeLogPath,
} from '../../../../services/node/executor/pod-logs.ts';
import { listedContainer } from '../../../fixtures/listing.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { POD_LABELS } from './support/executor-node.ts';

const ROOT = '/var/log/pods';

describe('a log path', () => {
  test.each([
    '/var/log/pods/default_web_uid/app/0.log',
    '/var/log/pods/uid/app_0.log',
    '/var/log/pods/default_web_uid/app/a b.log',
  ])('[G20] %s is safe', (path) => {
    expect(unsafeLogPath(path, { podLogsDir: ROOT })).toBeUndefined();
  });

  test.each([
    ['', 'empty'],
    ['default_web_uid/app/0.log', 'relative'],
    ['/var/log/pods/0.log', 'in the root itself'],
    ['/var/log/pods', 'the root'],
    ['/var/log/pods/', 'the root with a slash'],
    ['/var/log/pods/uid/', 'a directory'],
    ['/var/log/pods-other/uid/0.log', 'beside the root'],
    ['/etc/passwd', 'outside'],
    ['/var/log/pods/../../../etc/passwd', 'leading outside'],
    ['/var/log/pods/uid/../uid/0.log', 'not plain'],
    ['/var/log/pods//uid/0.log', 'with an empty part'],
    ['/var/log/pods/uid/*', 'with a star'],
    ['/var/log/pods/uid/0?.log', 'with a question mark'],
    ['/var/log/pods/uid/[0.log', 'with an unbalanced bracket'],
    ['/var/log/pods/uid/]0.log', 'with a closing bracket'],
    ['/var/log/pods/uid/\\0.log', 'with a backslash'],
    ['/var/log/pods/uid/{0,1}.log', 'with braces'],
    ['/var/log/pods/uid/0\0.log', 'with a zero byte'],
  ])('[G20] "%s" (%s) is not', (path) => {
    expect(unsafeLogPath(path, { podLogsDir: ROOT })).toEqual(expect.any(String));
  });
});

test('[G20] an empty log path is told as none', () => {
  expect(unsafeLogPath('', { podLogsDir: ROOT })).toBe('the runtime names no log path');
});

describe("a log path in its own pod's directory", () => {
  const isOwn = (directory: string, labels = {}) =>
    foreignLogPath(
      { logPath: `${ROOT}/${directory}/app/0.log`, labels: { ...POD_LABELS, ...labels } },
      { podLogsDir: ROOT },
    ) === undefined;

  test.each([
    { directory: 'default_web_pod-1', own: true },
    { directory: 'pod-1', own: true },
    { directory: 'default_web_pod-2', own: false },
    { directory: 'default_other_pod-1', own: false },
    { directory: 'other_web_pod-1', own: false },
    { directory: 'default_web_pod-12', own: false },
    { directory: 'default_web_pod-1_x', own: false },
    { directory: 'pod-2', own: false },
    { directory: 'default_web', own: false },
  ])('[G20, I2] $directory of web in default with UID pod-1: $own', ({ directory, own }) => {
    expect(isOwn(directory)).toBe(own);
  });

  test('[G20] is none where a label is missing', () => {
    expect(isOwn('default_undefined_pod-1', { 'io.kubernetes.pod.name': undefined })).toBe(false);
    expect(isOwn('undefined', { 'io.kubernetes.pod.uid': undefined })).toBe(false);
  });
});

describe('the flat symlink', () => {
  const symlinkOf = (over: Parameters<typeof listedContainer>[1], id = 'abcdef') =>
    flatSymlink(listedContainer(id, { labels: POD_LABELS, ...over }));

  test('[G22] is named after pod, namespace, container and id', () => {
    expect(symlinkOf({})).toBe('web_default_app-abcdef.log');
  });

  test('[G22] has nothing in the place of a name that no label tells', () => {
    expect(symlinkOf({ labels: {} })).toBe('__app-abcdef.log');
  });

  test.each([
    { length: 251, cut: 251 },
    { length: 252, cut: 251 },
    { length: 300, cut: 251 },
  ])('[G22] of $length characters is cut to $cut', ({ length, cut }) => {
    const id = 'x'.repeat(length - 'web_default_app-'.length);
    expect(symlinkOf({}, id)).toBe(`${'web_default_app-'.concat(id).slice(0, cut)}.log`);
  });

  test.each([{ 'io.kubernetes.pod.name': '../../etc/x' }, { 'io.kubernetes.pod.namespace': 'a/b' }])(
    'is none where a label could lead elsewhere: %o',
    (labels) => {
      expect(symlinkOf({ labels: { ...POD_LABELS, ...labels } })).toBeNull();
    },
  );
});

describe('log files', () => {
  function setUp() {
    const base = temporaryDirectory();
    const directories: PodLogAccess = {
      openDirectory,
      podLogsDir: join(base, 'pods'),
      containerLogsDir: join(base, 'containers'),
    };
    const logPath = join(directories.podLogsDir, 'default_web_pod-1', 'app', '0.log');
    mkdirSync(dirname(logPath), { recursive: true });
    mkdirSync(directories.containerLogsDir);
    const container = listedContainer('dead', { state: 'exited', labels: POD_LABELS, logPath });
    const find = async (others: Parameters<typeof findLogFiles>[1] = [], over = {}) => {
      const logs = await findLogFiles({ ...container, ...over }, [container, ...others], directories);
      return logs.safe ? { safe: true, paths: pathsIn(logs.found, directories) } : logs;
    };
    /** As time passes between the two. */
    const findAndRemove = async (meanwhile: () => void = () => {}) => {
      const logs = await findLogFiles(container, [container], directories);
      if (!logs.safe) throw new Error(logs.problem);
      meanwhile();
      await removeLogFiles(logs.found, directories);
    };
    return { base, directories, logPath, container, find, findAndRemove };
  }

  const pathsIn = ({ directories, files, symlink }: FoundLogFiles, roots: PodLogAccess) => [
    ...files.map((name) => join(roots.podLogsDir, ...directories, name)),
    ...(symlink === null ? [] : [join(roots.containerLogsDir, symlink)]),
  ];

  test('[G20, G22] are the log, its rotated ones and the symlink, in this order', async () => {
    const { directories, logPath, find, findAndRemove } = setUp();
    for (const path of [logPath, `${logPath}.20260101-1`, `${logPath}.20260101-1.gz`])
      writeFileSync(path, '');
    writeFileSync(join(dirname(logPath), '1.log'), '');
    const link = join(directories.containerLogsDir, 'web_default_app-dead.log');
    symlinkSync(logPath, link);
    expect(await find()).toEqual({
      safe: true,
      paths: [...[logPath, `${logPath}.20260101-1`, `${logPath}.20260101-1.gz`].toSorted(), link],
    });
    await findAndRemove();
    expect(readdirSync(dirname(logPath))).toEqual(['1.log']);
    expect(readdirSync(directories.containerLogsDir)).toEqual([]);
  });

  test.each([
    { name: 'outside of all pods', path: () => '/etc/passwd', problem: /is not inside a pod's directory/ },
    {
      name: "in another pod's directory",
      path: (root: string) => join(root, 'default_db_pod-2', 'app', '0.log'),
      problem: /is not in the directory default_web_pod-1 of its pod$/,
    },
  ])('[G20] by a log path $name are not safe', async ({ path, problem }) => {
    const { find, directories } = setUp();
    const logPath = path(directories.podLogsDir);
    expect(await find([], { logPath })).toEqual({ safe: false, problem: expect.stringMatching(problem) });
  });

  test('of a container are not those of another because it is listed itself', async () => {
    const { container, directories, logPath } = setUp();
    writeFileSync(logPath, '');
    const listed = { ...container, state: 'running' } as const;
    expect(await findLogFiles(container, [listed], directories)).toMatchObject({ safe: true });
  });

  test('[G20] that are missing are no error', async () => {
    const { find, findAndRemove, logPath, directories } = setUp();
    expect(await find()).toEqual({ safe: true, paths: [] });
    writeFileSync(logPath, '');
    await findAndRemove(() => rmSync(logPath));
    await findAndRemove(() => rmSync(dirname(logPath), { recursive: true }));
    await findAndRemove(() => rmSync(directories.containerLogsDir, { recursive: true }));
  });

  test('[G22] stay where the name of the container could lead elsewhere', async () => {
    const { find, logPath } = setUp();
    writeFileSync(logPath, '');
    expect(await find([], { name: 'a/b' })).toEqual({
      safe: false,
      problem: "the names in the container's labels hold a slash",
    });
  });

  test('[G20] in a directory that is gone are no error', async () => {
    const { find, directories } = setUp();
    expect(await find([], { logPath: join(directories.podLogsDir, 'pod-1', 'gone', '0.log') })).toEqual({
      safe: true,
      paths: [],
    });
  });

  test('of another container whose log path begins alike stay', async () => {
    const { find, logPath } = setUp();
    const other = listedContainer('other', { logPath: `${logPath}1` });
    for (const path of [logPath, other.logPath, `${other.logPath}.gz`]) writeFileSync(path, '');
    expect(await find([other])).toEqual({ safe: true, paths: [logPath] });
  });

  test('that a running container writes to as well are not safe', async () => {
    const { find, logPath } = setUp();
    expect(await find([listedContainer('other', { state: 'running', logPath })])).toMatchObject({
      safe: false,
    });
  });

  test.each(['created', 'exited', 'unknown'] as const)(
    'that a container in state %s calls its own as well stay, and go with the last of them',
    async (state) => {
      const { find, logPath } = setUp();
      for (const path of [logPath, `${logPath}.20260101-1`]) writeFileSync(path, '');
      expect(await find([listedContainer('other', { state, logPath })])).toEqual({ safe: true, paths: [] });
      expect(await find()).toEqual({ safe: true, paths: [logPath, `${logPath}.20260101-1`] });
    },
  );

  test('[G20] behind a symlinked directory are not safe, wherever it leads', async () => {
    const { find, base, directories } = setUp();
    const secret = join(base, 'secret');
    mkdirSync(join(secret, 'app'), { recursive: true });
    writeFileSync(join(secret, 'app', '0.log'), '');
    symlinkSync(secret, join(directories.podLogsDir, 'default_evil_pod-2'));
    symlinkSync(
      join(directories.podLogsDir, 'default_web_pod-1'),
      join(directories.podLogsDir, 'default_sly_pod-3'),
    );
    for (const [name, uid] of [
      ['evil', 'pod-2'],
      ['sly', 'pod-3'],
    ]) {
      const logPath = join(directories.podLogsDir, `default_${name}_${uid}`, 'app', '0.log');
      const labels = { ...POD_LABELS, 'io.kubernetes.pod.name': name, 'io.kubernetes.pod.uid': uid };
      expect(await find([], { logPath, labels })).toEqual({
        safe: false,
        problem: expect.stringMatching(/leads over .*default_(evil|sly)_pod-., which is a symlink$/),
      });
    }
  });

  test('below a root that is itself a symlink are found', async () => {
    const { find, base, directories, logPath } = setUp();
    writeFileSync(logPath, '');
    renameSync(directories.podLogsDir, join(base, 'data'));
    symlinkSync(join(base, 'data'), directories.podLogsDir);
    expect(await find()).toEqual({ safe: true, paths: [logPath] });
  });

  test('that are symlinks themselves go, and what they point to stays', async () => {
    const { findAndRemove, base, logPath } = setUp();
    writeFileSync(join(base, 'json.log'), '');
    symlinkSync(join(base, 'json.log'), logPath);
    await findAndRemove();
    expect(readdirSync(dirname(logPath))).toEqual([]);
    expect(readdirSync(base)).toContain('json.log');
  });

  test('below a root that is not there are not safe', async () => {
    const { container, base } = setUp();
    const directories = {
      podLogsDir: join(base, 'missing'),
      containerLogsDir: join(base, 'containers'),
      openDirectory,
    };
    const logPath = join(directories.podLogsDir, 'default_web_pod-1', 'app', '0.log');
    expect(await findLogFiles({ ...container, logPath }, [], directories)).toMatchObject({ safe: false });
  });

  test.each(['default_web_pod-1', 'default_web_pod-1/app'])(
    '[G19, G20, K3] of which %s has become a link since they were found stay, and the link is named',
    async (name) => {
      const { findAndRemove, base, directories, logPath } = setUp();
      for (const path of [logPath, join(base, 'precious', '0.log'), join(base, 'precious', 'app', '0.log')]) {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, '');
      }
      const directory = join(directories.podLogsDir, name);
      const removing = findAndRemove(() => {
        renameSync(directory, join(base, 'moved'));
        symlinkSync(join(base, 'precious'), directory);
      });
      await expect(removing).rejects.toThrow(`leads over ${directory}, which is a symlink`);
      expect(readdirSync(join(base, 'precious'))).toEqual(['0.log', 'app']);
      expect(readdirSync(join(base, 'precious', 'app'))).toEqual(['0.log']);
    },
  );

  test('[G22] a symlink that has become a file since it was found stays', async () => {
    const { findAndRemove, directories, logPath } = setUp();
    const link = join(directories.containerLogsDir, 'web_default_app-dead.log');
    symlinkSync(logPath, link);
    await findAndRemove(() => {
      rmSync(link);
      writeFileSync(link, 'a line');
    });
    expect(readdirSync(directories.containerLogsDir)).toEqual(['web_default_app-dead.log']);
  });

  test('[G20] in what is no directory are not safe', async () => {
    const { find, logPath } = setUp();
    rmSync(dirname(logPath), { recursive: true });
    writeFileSync(dirname(logPath), '');
    const problem = `the log path ${logPath} leads over ${dirname(logPath)}, which is no directory`;
    expect(await find()).toEqual({ safe: false, problem });
  });

  test('[G22] a file where the symlink belongs is not ours to remove', async () => {
    const { find, directories } = setUp();
    writeFileSync(join(directories.containerLogsDir, 'web_default_app-dead.log'), '');
    expect(await find()).toEqual({ safe: true, paths: [] });
  });
});
