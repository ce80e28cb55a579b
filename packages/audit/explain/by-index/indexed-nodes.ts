import { isNodeKey } from '../../../../schemas/events/identity.ts';
import {
  type ActedName,
  type Found,
  type FoundNames,
  isActed,
  isListed,
  isListedName,
  type ListedName,
  linesOnNodes,
  type NameLine,
} from '../../../archive/names.ts';

import { meansById, meansListed, meansNode } from '../meanings.ts';
import { type AskedName, nodeOfKey, type WatchedNode } from '../question.ts';

/** What an index says of one node on which something may be meant. */
export interface IndexedNode {
  readonly key: string;
  readonly where: WatchedNode;
  /** Where its records lie: one, unless somebody wrote to others too. */
  readonly partitions: ReadonlySet<number>;
  /** Whether only its records can tell: some cannot be read, or the node itself may be meant. */
  readonly isUncertain: boolean;
  readonly listed: readonly Found<ListedName>[];
  readonly acted: readonly Found<ActedName>[];
}

/** Every node on which the name may mean something, and no other. */
export function indexedNodes(
  files: readonly FoundNames[],
  asked: AskedName,
  filter: (node: WatchedNode) => boolean,
): IndexedNode[] {
  const isMeant = (line: NameLine): boolean =>
    isListedName(line) ? meansListed(asked, line) : meansById(asked, line);
  const byNode = Map.groupBy(linesOnNodes(files, isMeant), ({ key }) => key);
  const partitions = partitionsIn(files);
  const uncertain = new Set(files.flatMap((file) => uncertainIn(file, asked)));
  return [...new Set([...byNode.keys(), ...uncertain])]
    .map((key) => ({
      key,
      where: nodeOfKey(key),
      partitions: partitions.get(key) ?? new Set(),
      isUncertain: uncertain.has(key),
      lines: byNode.get(key) ?? [],
    }))
    .filter(({ where }) => filter(where))
    .map(({ lines, ...node }) => ({ ...node, listed: lines.filter(isListed), acted: lines.filter(isActed) }));
}

function partitionsIn(files: readonly FoundNames[]): ReadonlyMap<string, Set<number>> {
  const partitions = new Map<string, Set<number>>();
  for (const { nodes, partition } of files)
    for (const key of nodes.written) partitions.set(key, (partitions.get(key) ?? new Set()).add(partition));
  return partitions;
}

const uncertainIn = ({ nodes }: FoundNames, asked: AskedName): readonly string[] => [
  ...nodes.unread,
  ...nodes.written.filter((key) => meansNode(asked, nodeOfKey(key))),
];

/** Whether the name can be that of a node. */
export const canBeNode = ({ kind, text }: AskedName): boolean =>
  (kind === null || kind === 'node') && isNodeKey(text.includes('/') ? text : `any/${text}`);
