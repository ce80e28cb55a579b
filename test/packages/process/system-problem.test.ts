import { expect, test } from 'vitest';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { systemProblem } from '../../../packages/process/system-problem.ts';

const systemError = (code: string, path: string): Error =>
  Object.assign(new Error(`${code}: failed, open '${path}'`), { code, path, syscall: 'open', errno: -1 });

test.each([
  ['ENOSPC', /its disk is full \(free 10 MB/],
  ['EDQUOT', /quota/],
  ['EROFS', /read-only/],
  ['ENOTDIR', /a part of the path is not a directory/],
  ['ELOOP', /symbolic link/],
  ['ENXIO', /a pipe, a socket or a device/],
  ['EACCES', /permission denied.*sudo|capability/],
  ['EPERM', /permission denied.*sudo|capability/],
])('an answer of the system is told in words, and by no code: %s', (code, words) => {
  const error = systemError(code, '/etc/hostname');
  expect(systemProblem(error)).toMatch(words);
  const told = toFleetGcError(error);
  expect(told.code).toBe('FILE_UNUSABLE');
  expect(told.message).toMatch(words);
  expect(told.message).toContain('/etc/hostname');
  expect(told.message).not.toContain(code);
});

test('what is no answer about a file stays what it is', () => {
  expect(systemProblem(new Error('x'))).toBeNull();
  expect(
    toFleetGcError(Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect' })).code,
  ).toBe('INTERNAL');
});
