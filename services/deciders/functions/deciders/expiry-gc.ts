import { EXPIRY_GC } from '../../../../packages/deciders/expiry-gc/main.ts';
import { decisionFunction } from '../decision-function.ts';

export const decider = decisionFunction('cluster', EXPIRY_GC);
