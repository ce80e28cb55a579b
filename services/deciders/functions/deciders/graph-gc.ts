import { GRAPH_GC } from '../../../../packages/deciders/graph-gc/main.ts';
import { decisionFunction } from '../decision-function.ts';

export const decider = decisionFunction('cluster', GRAPH_GC);
