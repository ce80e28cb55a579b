import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { drawnNodes } from './cases.ts';
import { accountLines, compareCollector, kubeletRemovals } from './compare.ts';
import { COLLECTORS, parseOptions } from './options.ts';

/** A program in place of the kubelet's collectors, which answers each line with this. */
function programThat(answers: string): string {
  const path = join(temporaryDirectory(), 'collectors');
  writeFileSync(path, `#!/bin/sh\nwhile read -r line; do ${answers}; done\n`);
  chmodSync(path, 0o755);
  return path;
}

const tell = () => undefined;

describe.each(COLLECTORS)('%s', (collector) => {
  test('the same seed draws the same nodes, and another one others', () => {
    const drawn = drawnNodes(collector, 20, 1);
    expect(drawnNodes(collector, 20, 1)).toEqual(drawn);
    expect(drawnNodes(collector, 20, 2)).not.toEqual(drawn);
  });

  test('a kubelet that removes nothing differs wherever FleetGC removes something, and the account shows ten of these nodes', async () => {
    const program = programThat(`echo '{"removed":[]}'`);
    const account = await compareCollector(collector, { nodes: 100, seed: 1 }, { program, tell });
    const ofFleetGc = drawnNodes(collector, 100, 1).filter(({ removed }) => removed.length > 0);
    expect(account).toMatchObject({ nodes: 100, effective: 0, different: ofFleetGc.length });
    expect(ofFleetGc.length).toBeGreaterThan(20);
    expect(accountLines(account).filter((line) => line.startsWith('  kubelet'))).toHaveLength(10);
  });

  test('a program that ends early is no comparison', async () => {
    await expect(kubeletRemovals(programThat('exit 3'), drawnNodes(collector, 2, 1))).rejects.toThrow(
      'ended with 3 after 0 of 2 nodes',
    );
  });
});

describe('options', () => {
  test('as given, and what is not given', () => {
    expect(parseOptions([])).toEqual({ nodes: 2_000, seed: 1, collectors: COLLECTORS, json: false });
    expect(parseOptions(['--nodes', '5', '--seed', '7', '--only', 'images', '--json'])).toEqual({
      nodes: 5,
      seed: 7,
      collectors: ['images'],
      json: true,
    });
    expect(parseOptions(['-h'])).toBeNull();
  });

  test.each([
    [['--nodes', '0'], '--nodes is 0'],
    [['--seed', 'x'], '--seed is x'],
    [['--only', 'logs'], 'it must be one of images, containers'],
  ])('%j is refused', (args, why) => {
    expect(() => parseOptions(args)).toThrow(why);
  });
});
