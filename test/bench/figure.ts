import type { Spread } from './statistics.ts';

/** How a figure is judged: against its baseline, or on its own. */
export type Aim =
  | { readonly kind: 'ratio-at-most'; readonly limit: number }
  | { readonly kind: 'ratio-at-least'; readonly limit: number }
  | { readonly kind: 'difference-at-most'; readonly limit: number }
  | { readonly kind: 'value-at-most'; readonly limit: number };

/** One line of the table: what FleetGC takes beside what the same bytes take without it. */
export interface Figure {
  readonly benchmark: string;
  readonly name: string;
  readonly unit: string;
  readonly value: Spread;
  /** What was measured in turns with it, in the same run. */
  readonly baseline: Spread;
  readonly baselineName: string;
  /** Measurements behind the value. */
  readonly samples: number;
  /** `null`: shown to explain another figure. */
  readonly aim: Aim | null;
}

/** What one benchmark found, and how it was measured. */
export interface Findings {
  readonly figures: readonly Figure[];
  readonly notes: readonly string[];
}

export const ratioOf = ({ value, baseline }: Figure): number => value.median / baseline.median;

/** Whether the aim was met by the medians of this run; `null` where there is none. */
export function isMet(figure: Figure): boolean | null {
  const { aim, value, baseline } = figure;
  switch (aim?.kind) {
    case undefined:
      return null;
    case 'ratio-at-most':
      return ratioOf(figure) <= aim.limit;
    case 'ratio-at-least':
      return ratioOf(figure) >= aim.limit;
    case 'difference-at-most':
      return value.median - baseline.median <= aim.limit;
    case 'value-at-most':
      return value.median <= aim.limit;
  }
}

export function aimText(aim: Aim, unit: string): string {
  switch (aim.kind) {
    case 'ratio-at-most':
      return `at most ${aim.limit}x`;
    case 'ratio-at-least':
      return `at least ${aim.limit}x`;
    case 'difference-at-most':
      return `at most ${aim.limit} above`;
    case 'value-at-most':
      return `at most ${aim.limit} ${unit}`;
  }
}
