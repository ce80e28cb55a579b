import { PRESSURE } from '../../pressure/main.ts';
import { decisionFunction } from '../decision-function.ts';

export const decider = decisionFunction('node', PRESSURE);
