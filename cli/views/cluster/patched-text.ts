import type { ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';

type Action = ClusterObjectResults['objects'][number]['action'];

/** What became of an object that was changed and stays. */
export const PATCHED: Readonly<Record<Action, string>> = {
  delete: 'blocks its owners no more',
  expire: 'changed',
  'drop-references': 'references to owners taken away',
  finish: 'finalizer taken away',
  'remove-pod': 'marked as failed',
};
