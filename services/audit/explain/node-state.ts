import type { ExplainedObject } from '../../../schemas/reports/timeline.ts';
import type { AskedName } from './asked-name.ts';
import type { ObjectLife } from './life-state.ts';
import type { Meaning } from './meanings.ts';
import type { NodeLife } from './node-life.ts';
import type { Timeline } from './timeline.ts';

export interface WatchedNode {
  readonly cluster: string;
  readonly node: string;
}

/** Of a key, `<cluster>/<node>`. */
export function nodeOfKey(key: string): WatchedNode {
  const [cluster = '', node = ''] = key.split('/');
  return { cluster, node };
}

/** What is known so far of one node, by whoever watches it. */
export interface NodeState {
  readonly asked: AskedName;
  readonly where: WatchedNode;
  readonly timeline: Timeline;
  readonly lives: Map<string, Tracked>;
  readonly meanings: Map<string, Meaning>;
  /** Of pods that are meant, and remembered when only their UID is still listed. */
  readonly podNames: Map<string, string>;
  readonly decisionIds: Set<string>;
  readonly nodeObject: ExplainedObject;
  hasLooked: boolean;
  node: { readonly life: NodeLife; readonly firstSeenMs: number; lastSeenMs: number } | null;
}

export interface Tracked {
  readonly life: ObjectLife;
  readonly podUid: string | null;
}
