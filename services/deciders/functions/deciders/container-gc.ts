import { CONTAINER_GC } from '../../../../packages/deciders/container-gc/main.ts';
import { decisionFunction } from '../decision-function.ts';

export const decider = decisionFunction('node', CONTAINER_GC);
