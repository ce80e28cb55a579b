import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { type ComparedNode, drawnNodes } from './cases.ts';
import type { CollectorName, KubeletOptions } from './options.ts';

/** Drawn and compared at a time. */
const BATCH = 1_000;
const MOST_SHOWN = 10;

export interface Difference {
  readonly collector: CollectorName;
  readonly given: ComparedNode['given'];
  readonly kubelet: readonly string[];
  readonly fleetgc: readonly string[];
}

export interface Account {
  readonly collector: CollectorName;
  readonly nodes: number;
  /** Of which the kubelet removes something: else there is nothing to compare. */
  readonly effective: number;
  readonly removed: number;
  readonly different: number;
  /** The first of them. */
  readonly differences: readonly Difference[];
}

const Answer = z.object({ removed: z.array(z.string()) });

/** What the kubelet's collectors remove of each node, in order. */
export async function kubeletRemovals(
  program: string,
  nodes: readonly ComparedNode[],
): Promise<readonly (readonly string[])[]> {
  const process = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(process, 'close');
  const removed: (readonly string[])[] = [];
  const lines = createInterface({ input: process.stdout });
  lines.on('line', (line) => removed.push(Answer.parse(JSON.parse(line)).removed));
  process.stdin.end(nodes.map(({ given }) => `${JSON.stringify(given)}\n`).join(''));
  const [code] = await ended;
  if (code !== 0 || removed.length !== nodes.length)
    throw new Error(
      `the kubelet's collectors ended with ${code} after ${removed.length} of ${nodes.length} nodes`,
    );
  return removed;
}

/** In one order where the order is chance. */
const comparable = (ids: readonly string[], { isOrdered }: ComparedNode): string =>
  JSON.stringify(isOrdered ? ids : ids.toSorted());

export async function compareCollector(
  collector: CollectorName,
  { nodes, seed }: Pick<KubeletOptions, 'nodes' | 'seed'>,
  { program, tell }: { readonly program: string; readonly tell: (text: string) => void },
): Promise<Account> {
  let [effective, removed] = [0, 0];
  const differences: Difference[] = [];
  for (let done = 0; done < nodes; done += BATCH) {
    const batch = drawnNodes(collector, Math.min(BATCH, nodes - done), seed + done);
    const kubelet = await kubeletRemovals(program, batch);
    for (const [index, node] of batch.entries()) {
      const ids = kubelet[index] ?? [];
      if (ids.length > 0) effective++;
      removed += ids.length;
      if (comparable(ids, node) !== comparable(node.removed, node))
        differences.push({ collector, given: node.given, kubelet: ids, fleetgc: node.removed });
    }
    tell(`${collector}: ${done + batch.length} of ${nodes} nodes, ${differences.length} different`);
  }
  return {
    collector,
    nodes,
    effective,
    removed,
    different: differences.length,
    differences: differences.slice(0, MOST_SHOWN),
  };
}

export const accountLines = ({ collector, ...of }: Account): readonly string[] => [
  `${collector}: ${of.nodes} nodes, of ${of.effective} of which the kubelet removes something, ${of.removed} objects in all; ${of.different} different`,
  ...of.differences.flatMap(({ given, kubelet, fleetgc }) => [
    `  node     ${JSON.stringify(given)}`,
    `  kubelet  ${kubelet.join(' ')}`,
    `  FleetGC  ${fleetgc.join(' ')}`,
  ]),
];
