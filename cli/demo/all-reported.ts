import type { Tale } from '../views/narration/narrator.ts';

/** Takes each tale, and calls `then` once: when each of these nodes has told how full its disk is. */
export function whenAllReported(nodes: readonly string[], then: () => void): (tale: Tale) => void {
  const missing = new Set(nodes);
  return ({ kind, node }) => {
    if (kind === 'usage' && missing.delete(node) && missing.size === 0) then();
  };
}
