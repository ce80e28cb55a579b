import type { Facts } from '../../shared/decision/conclusion.ts';

/** What is to become of one entry of a log directory, and by which rule. */
export interface Judged {
  readonly action: 'remove' | 'keep';
  readonly rule: string;
  readonly facts: Facts;
}

export const kept = (rule: string, facts: Facts): Judged => ({ action: 'keep', rule, facts });
