import { describe, expect, test } from 'vitest';
import { believeInodes, believeUsage } from '../../../packages/decision/thresholds/filesystem-usage.ts';
import { filesystem } from '../../fixtures/filesystems.ts';

describe('what a node read of a filesystem', () => {
  test('is believed where it can be', () => {
    expect(believeUsage('imagefs', filesystem())).toEqual({
      kind: 'usage',
      usage: { capacityBytes: 1000n, availableBytes: 100n },
    });
    expect(believeInodes('imagefs', filesystem())).toEqual({
      kind: 'inodes',
      inodes: { inodes: 1000n, free: 900n },
    });
  });

  test.each([
    { reading: null, rule: 'A1', says: 'imagefs could not be read' },
    { reading: { capacityBytes: null }, rule: 'A1', says: 'the capacity of imagefs could not be read' },
    {
      reading: { availableBytes: null },
      rule: 'A1',
      says: 'the available space of imagefs could not be read',
    },
    {
      reading: { capacityBytes: '0', availableBytes: '0' },
      rule: 'D5',
      says: 'imagefs reports a capacity of 0 bytes',
    },
    {
      reading: { availableBytes: '1001' },
      rule: 'M37',
      says: 'imagefs reports 1001 bytes available of 1000 in all',
    },
  ])('[A1, D5, M37] of bytes: $says', ({ reading, rule, says }) => {
    expect(believeUsage('imagefs', reading && filesystem(reading))).toEqual({
      kind: 'doubt',
      doubt: { rule, message: `${says}: no decision rests on it` },
    });
  });

  test.each([
    { reading: null, rule: 'A1', says: 'imagefs could not be read' },
    { reading: { inodes: null }, rule: 'A1', says: 'the number of inodes of imagefs could not be read' },
    { reading: { inodesFree: null }, rule: 'A1', says: 'the free inodes of imagefs could not be read' },
    { reading: { inodes: '0', inodesFree: '0' }, rule: 'D5', says: 'imagefs reports 0 inodes in all' },
    { reading: { inodesFree: '1001' }, rule: 'M37', says: 'imagefs reports 1001 inodes free of 1000 in all' },
  ])('[A1, D5, M37] of inodes: $says', ({ reading, rule, says }) => {
    expect(believeInodes('imagefs', reading && filesystem(reading))).toEqual({
      kind: 'doubt',
      doubt: { rule, message: `${says}: no decision rests on it` },
    });
  });

  test('[M37] all of it may be free', () => {
    expect(believeUsage('imagefs', filesystem({ availableBytes: '1000' })).kind).toBe('usage');
  });
});
