import { POD_GC } from '../../../../packages/deciders/pod-gc/main.ts';
import { decisionFunction } from '../decision-function.ts';

export const decider = decisionFunction('cluster', POD_GC);
