import { distance } from 'fastest-levenshtein';

/** A cluster whose name looks like a slip for that of another. */
export interface StrayCluster {
  readonly cluster: string;
  readonly nodes: number;
  readonly like: string;
  readonly likeNodes: number;
}

/** A slip on one machine, or on the few that were set up in one go. */
const MOST_STRAY_NODES = 2;
const FEWEST_LIKE_NODES = 3;
const SHORTEST_NAME = 3;
/** Each small one is held against each large one, and names can be made up. */
const MOST_LARGE = 100;
const MOST_SMALL = 200;

/**
 * Clusters of one or two nodes, with a name that is one slip away from that of a larger cluster. Names that differ in digits
 * alone (`prod-1`, `prod-2`) are meant, and so are those that a policy names.
 */
export function strayClusters(
  nodesOf: ReadonlyMap<string, number>,
  namedByPolicies: ReadonlySet<string>,
): readonly StrayCluster[] {
  const large = [...nodesOf]
    .filter(([, nodes]) => nodes >= FEWEST_LIKE_NODES)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, MOST_LARGE);
  return [...nodesOf]
    .filter(([cluster, nodes]) => nodes <= MOST_STRAY_NODES && !namedByPolicies.has(cluster))
    .slice(0, MOST_SMALL)
    .flatMap(([cluster, nodes]): StrayCluster[] => {
      const like = large.find(([name]) => isSlip(cluster, name));
      return like === undefined ? [] : [{ cluster, nodes, like: like[0], likeNodes: like[1] }];
    });
}

function isSlip(name: string, meant: string): boolean {
  if (meant.length < SHORTEST_NAME || withoutDigits(name) === withoutDigits(meant)) return false;
  const [a, b] = [name.toLowerCase(), meant.toLowerCase()];
  return distance(a, b) <= 1 || areSwapped(a, b);
}

const withoutDigits = (name: string): string => name.replace(/[0-9]+/g, '');

/** Two letters side by side that changed places. */
function areSwapped(a: string, b: string): boolean {
  const at = [...a].findIndex((letter, index) => letter !== b[index]);
  return at >= 0 && `${a.slice(0, at)}${a.charAt(at + 1)}${a.charAt(at)}${a.slice(at + 2)}` === b;
}
