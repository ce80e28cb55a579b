import { IMAGE_GC } from '../../../../packages/deciders/image-gc/main.ts';
import { decisionFunction } from '../decision-function.ts';

export const decider = decisionFunction('node', IMAGE_GC);
