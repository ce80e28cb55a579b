import { nodeKey } from '../../../schemas/events/identity.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import { POOL_LABEL } from '../../../schemas/policy/policy-selection.ts';
import type {
  DashboardFleet,
  DashboardNews,
  DashboardNodes,
  NodeState,
} from '../../../schemas/reports/dashboard.ts';
import type { FleetNode, FleetNodes } from '../../../schemas/reports/fleet-nodes.ts';

/** A label with more values than this makes groups of single nodes. */
const MOST_GROUPS = 200;
const MOST_LABELS = 100;

/** By what nodes are put together; a label is named as `label:NAME`. */
export type Grouping = 'cluster' | 'pool' | 'policy' | `label:${string}`;

const NONE = '(none)';

export const groupOf = (node: FleetNode, grouping: Grouping): string => {
  switch (grouping) {
    case 'cluster':
      return node.cluster;
    case 'pool':
      return node.nodeLabels[POOL_LABEL] ?? NONE;
    case 'policy':
      return node.policy?.name ?? NONE;
    default:
      return labelOf(node, grouping.slice('label:'.length)) ?? NONE;
  }
};

/** What every object has by itself, such as `constructor`, is no label. */
const labelOf = ({ nodeLabels }: FleetNode, name: string): string | undefined =>
  Object.hasOwn(nodeLabels, name) ? nodeLabels[name] : undefined;

/** The worst of what can be said of a node. */
export function stateOf({ warnings, pausedBecause, policy, isSilent }: FleetNode): NodeState {
  if (isSilent) return 'silent';
  if (warnings.some(({ kind }) => kind.startsWith('above-threshold'))) return 'pressure';
  if (warnings.length > 0) return 'warned';
  if (pausedBecause !== null) return 'paused';
  return policy === null ? 'keeps-all' : 'well';
}

/** What the page shows of a node, and hears anew when it changes. */
const shownOf = (node: FleetNode): Omit<DashboardNews['nodes'][number], 'cluster' | 'node'> => ({
  used: usedOf(node),
  state: stateOf(node),
  isPaused: node.pausedBecause !== null,
  hasPolicy: node.policy !== null,
});

const usedOf = ({ filesystems }: FleetNode): number | null => filesystems.imagefs?.usedPercent ?? null;

/** Every node, in columns: ten thousand of them are half a megabyte. */
export function fleetColumns({ nodes, readAtMs }: FleetNodes, grouping: Grouping): DashboardFleet {
  const clusters = new Positions();
  const groups = new Positions();
  const shown = nodes.map(shownOf);
  return {
    readAtMs,
    columns: {
      node: nodes.map(({ node }) => node),
      cluster: nodes.map(({ cluster }) => clusters.of(cluster)),
      group: nodes.map((node) => groups.of(groupOf(node, grouping))),
      used: shown.map(({ used }) => used),
      state: shown.map(({ state }) => state),
      isPaused: shown.map(({ isPaused }) => isPaused),
      hasPolicy: shown.map(({ hasPolicy }) => hasPolicy),
    },
    clusters: clusters.names(),
    groups: groups.names(),
    labels: labelsOf(nodes),
  };
}

/** Numbers names as they come. */
class Positions {
  readonly #positions = new Map<string, number>();

  of(name: string): number {
    const known = this.#positions.get(name) ?? this.#positions.size;
    this.#positions.set(name, known);
    return known;
  }

  names(): string[] {
    return [...this.#positions.keys()];
  }
}

function labelsOf(nodes: readonly FleetNode[]): string[] {
  const values = new Map<string, Set<string>>();
  for (const { nodeLabels } of nodes)
    for (const [name, value] of Object.entries(nodeLabels)) {
      const known = values.get(name) ?? new Set();
      if (known.size <= MOST_GROUPS) known.add(value);
      values.set(name, known);
    }
  return [...values]
    .filter(([, { size }]) => size <= MOST_GROUPS)
    .map(([name]) => name)
    .toSorted(compareText)
    .slice(0, MOST_LABELS);
}

/** The nodes of which something is new. */
export const newsOf = ({ nodes, readAtMs }: FleetNodes, changed: ReadonlySet<string>): DashboardNews => ({
  readAtMs,
  nodes: nodes
    .filter((node) => changed.has(nodeKey(node)))
    .map((node) => ({ cluster: node.cluster, node: node.node, ...shownOf(node) })),
});

/** A page of nodes, those behind a key. */
export function pageOfNodes(
  { nodes, readAtMs }: FleetNodes,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): DashboardNodes {
  const left = after === null ? nodes : nodes.filter((node) => compareText(nodeKey(node), after) > 0);
  const page = left.slice(0, limit);
  const last = page.at(-1);
  return { readAtMs, nodes: page, after: left.length > page.length && last ? nodeKey(last) : null };
}
