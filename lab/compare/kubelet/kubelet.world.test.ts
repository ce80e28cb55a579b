import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtKubeletCollectors } from '../../../test/support/toolchain/kubernetes.ts';
import { compareCollector } from './compare.ts';

test.each([
  { collector: 'images', rules: 'C, D, E, F', effective: 0.5 },
  { collector: 'containers', rules: 'G, H', effective: 0.7 },
] as const)(
  '[$rules] $collector: what the kubelet removes of a random node, profile kubelet removes',
  async ({ collector, effective }) => {
    const program = join(await builtKubeletCollectors(), 'kubelet-collectors');
    const account = await compareCollector(
      collector,
      { nodes: 2_000, seed: 1 },
      { program, tell: () => undefined },
    );
    expect(account.differences).toEqual([]);
    // Else there was nothing to compare.
    expect(account.effective).toBeGreaterThan(account.nodes * effective);
  },
);
