import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  inventoryLogSymlinks,
  inventoryPodLogDirectory,
  podLogReader,
} from '../../../../services/node/agent/pod-logs.ts';
import { listedContainer } from '../../../fixtures/listing.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

function logDirectories() {
  const base = temporaryDirectory();
  const directories = { podLogsDir: join(base, 'pods'), containerLogsDir: join(base, 'containers') };
  for (const directory of Object.values(directories)) mkdirSync(directory);
  return directories;
}

describe('what lies in the log directories', () => {
  test('[A10, I1] entries of the pod logs are listed by name, files and directories alike, and not gone into', async () => {
    const directories = logDirectories();
    mkdirSync(join(directories.podLogsDir, 'default_web_uid-2', 'app'), { recursive: true });
    mkdirSync(join(directories.podLogsDir, 'default_db_uid-1'));
    writeFileSync(join(directories.podLogsDir, 'uid-3'), '');
    expect((await podLogReader(directories)()).podLogDirectories).toEqual([
      'default_db_uid-1',
      'default_web_uid-2',
      'uid-3',
    ]);
  });

  test('[A10, I4] of the *.log only those without a target are told', async () => {
    const directories = logDirectories();
    const target = join(directories.podLogsDir, 'log');
    writeFileSync(target, '');
    const link = (name: string, to: string) => symlinkSync(to, join(directories.containerLogsDir, name));
    link('healthy-1234567.log', target);
    link('dangling-1234567.log', join(directories.podLogsDir, 'gone'));
    link('dangling-1234567.txt', join(directories.podLogsDir, 'gone'));
    link('ring-1234567.log', 'ring-1234567.log');
    writeFileSync(join(directories.containerLogsDir, 'file-1234567.log'), '');
    expect((await podLogReader(directories)()).danglingSymlinks).toEqual(['dangling-1234567.log']);
  });

  test.each(['podLogsDir', 'containerLogsDir'] as const)(
    '[I1, I4] of a directory that cannot be read nothing is told, not that it is empty (%s)',
    async (which) => {
      const directories = logDirectories();
      rmSync(directories[which], { recursive: true });
      const { podLogDirectories, danglingSymlinks } = await podLogReader(directories)();
      expect(which === 'podLogsDir' ? podLogDirectories : danglingSymlinks).toBeNull();
      expect(which === 'podLogsDir' ? danglingSymlinks : podLogDirectories).toEqual([]);
    },
  );
});

describe('the inventory', () => {
  test.each([
    { name: 'default_web_uid-1', podUid: 'uid-1' },
    { name: 'uid-1', podUid: 'uid-1' },
    { name: 'lost+found', podUid: 'lost+found' },
    { name: 'default_web_', podUid: '' },
  ])('[I2] the pod of $name is "$podUid"', ({ name, podUid }) => {
    expect(inventoryPodLogDirectory(name, () => null)).toEqual({ name, podUid, backoff: null });
  });

  const containers = [
    listedContainer('exited-1', { id: 'aaaaaaaa1', state: 'exited' }),
    listedContainer('running', { id: 'bbbbbbbb1', state: 'running' }),
    listedContainer('created', { id: 'cccccccc1', state: 'created' }),
    listedContainer('twin', { id: 'dddddddd1', state: 'exited' }),
    listedContainer('other', { id: 'dddddddd2', state: 'exited' }),
    listedContainer('short', { id: 'dddddddd', state: 'exited' }),
  ];

  test.each([
    { name: 'web_default_app-aaaaaaaa1.log', container: 'exited' },
    { name: 'web_default_app-bbbbbbbb1.log', container: 'not-exited' },
    { name: 'web_default_app-cccccccc1.log', container: 'not-exited' },
    { name: 'web_default_app-zzzzzz.log', container: 'no-answer' },
    { name: 'web_default_app-zzzzz.log', container: 'unreadable' },
    { name: 'web_default_app-aaaaaaaa1', container: 'unreadable' },
    { name: 'web_default_app.log', container: 'unreadable' },
  ])('[I5, I6] the container of $name is $container', ({ name, container }) => {
    expect(inventoryLogSymlinks([name], containers, () => null)).toEqual([
      { name, container, backoff: null },
    ]);
  });

  test.each([
    { name: 'web_default_app-aaaaaa.log', container: 'exited' },
    { name: 'web_default_app-dddddd.log', container: 'unknown' },
    { name: 'web_default_app-dddddddd.log', container: 'exited' },
  ])('[I8] the shortened id in $name: $container', ({ name, container }) => {
    expect(inventoryLogSymlinks([name], containers, () => null)).toMatchObject([{ container }]);
  });
});
