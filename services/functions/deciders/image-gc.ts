import { IMAGE_GC } from '../../image-gc/main.ts';
import { decisionFunction } from '../decision-function.ts';

export const decider = decisionFunction('node', IMAGE_GC);
