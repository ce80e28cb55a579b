import { expect, test } from 'vitest';
import { lockHolders, pidsOf } from '../../../packages/machine/lock-holders.ts';
import { lockState } from '../../../packages/machine/state-directory.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('who holds a lock of a state directory is told, and the lock is left as it is', () => {
  const directory = temporaryDirectory();
  expect(lockHolders(directory)).toEqual([]);
  {
    using _agent = lockState(directory, ['agent']);
    expect(lockHolders(directory)).toMatchObject([{ role: 'agent', pid: process.pid }]);
  }
  expect(lockHolders(directory)).toEqual([]);
});

test('of the locks of a kernel those to write count, of this file alone, once for each process', () => {
  const locks = [
    '1: POSIX  ADVISORY  WRITE 812 08:01:5678 1073741824 1073741825',
    '2: POSIX  ADVISORY  WRITE 812 08:01:5678 1073741826 1073742335',
    '2: -> POSIX  ADVISORY  WRITE 900 08:01:5678 0 EOF',
    '3: POSIX  ADVISORY  READ  813 08:01:5678 128 128',
    '4: FLOCK  ADVISORY  WRITE 814 08:01:5678 0 EOF',
    '5: POSIX  ADVISORY  WRITE 815 08:01:56789 0 EOF',
    '',
  ].join('\n');

  expect(pidsOf(locks, 5678n)).toEqual([812]);
});
