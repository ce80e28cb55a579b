import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/pressure/decide.ts';
import { pressureHandler } from '../../../../packages/deciders/pressure/decider.ts';
import type { FilesystemName, FilesystemReading } from '../../../../schemas/events/filesystem.ts';
import { input } from '../../../fixtures/input.ts';
import { policySet } from '../../../fixtures/policy.ts';
import { runs } from '../../../support/property-runs.ts';
import { CAPACITY, count, devices, freeOf, historyOf, nodeOf, someNode, somePolicy } from './arbitrary.ts';

const NAMES: readonly FilesystemName[] = ['nodefs', 'imagefs', 'containerfs'];
const RUNS = runs(1_000);

describe('for any disks, past and policy', () => {
  test('[J9, J10] a disk that never was below any threshold orders nothing', () => {
    // 400 of 1000 is the highest threshold there is; usage begins above 60 %.
    const enough = fc.integer({ min: 410, max: CAPACITY });
    const node = fc.record({ free: freeOf(enough), devices, history: historyOf(enough) });
    fc.assert(
      fc.property(node, somePolicy, ({ free, ...rest }, settings) => {
        expect(decide(nodeOf(free, rest), settings)).toMatchObject({ outcome: 'nothing-to-do', begin: null });
      }),
      RUNS,
    );
  });

  test('[J9, J10, J11] one more byte or inode free never adds an order', () => {
    const node = fc.record({ free: freeOf(count), devices, history: historyOf(count) });
    const one = fc.record({ device: fc.constantFrom('a', 'b', 'c'), bytes: fc.nat(3), inodes: fc.nat(3) });
    fc.assert(
      fc.property(node, one, somePolicy, ({ free, ...rest }, more, settings) => {
        const [bytes = 0, inodes = 0] = free[more.device] ?? [];
        const freer = {
          ...free,
          [more.device]: [
            Math.min(CAPACITY, bytes + more.bytes),
            Math.min(CAPACITY, inodes + more.inodes),
          ] as const,
        };
        const before = decide(nodeOf(free, rest), settings);
        if (before.begin === null) expect(decide(nodeOf(freer, rest), settings).begin).toBeNull();
      }),
      RUNS,
    );
  });

  test('[J8] what cannot be read orders nothing, and never more than what can', () => {
    const fields = ['capacityBytes', 'availableBytes', 'inodes', 'inodesFree'] as const;
    fc.assert(
      fc.property(
        someNode,
        fc.subarray([...NAMES]),
        fc.subarray([...fields]),
        somePolicy,
        (node, names, gone, settings) => {
          const blinded = { ...node, filesystems: { ...node.filesystems } };
          for (const name of names) {
            const reading = node.filesystems[name];
            const nothing = Object.fromEntries(gone.map((field) => [field, null]));
            blinded.filesystems[name] = reading && { ...reading, ...nothing };
          }
          const { begin } = decide(blinded, settings);
          const read = (name: FilesystemName): FilesystemReading | null => blinded.filesystems[name];
          if (begin !== null) {
            expect(read(begin.target.filesystem)?.[begin.target.resource]).not.toBeNull();
            expect(decide(node, settings).begin).not.toBeNull();
          }
          const dark = { ...node, filesystems: { nodefs: null, imagefs: null, containerfs: null } };
          expect(decide(dark, settings).begin).toBeNull();
        },
      ),
      RUNS,
    );
  });

  test('[M23] an order names a filesystem and resource that is below its target', () => {
    fc.assert(
      fc.property(someNode, somePolicy, (node, settings) => {
        const { begin } = decide(node, settings);
        if (begin === null) return;
        const { filesystem: name, resource, atLeast } = begin.target;
        expect(BigInt(node.filesystems[name]?.[resource] ?? '0') < BigInt(atLeast)).toBe(true);
        expect(begin.actions[0]).toBe(begin.step);
      }),
      RUNS,
    );
  });

  test('[M6] the same event gives the same bytes', async () => {
    await fc.assert(
      fc.asyncProperty(someNode, somePolicy, async (node, settings) => {
        const bytes = async () =>
          JSON.stringify(
            await pressureHandler(() => policySet(settings))(input('diskStats', structuredClone(node))),
          );
        expect(await bytes()).toBe(await bytes());
      }),
      runs(200),
    );
  });
});
