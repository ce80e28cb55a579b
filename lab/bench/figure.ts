import { z } from 'zod';
import { Spread } from './statistics.ts';

/** How a figure is judged: against its baseline, or on its own. */
const Aim = z
  .object({
    kind: z.enum(['ratio-at-most', 'ratio-at-least', 'difference-at-most', 'value-at-most']),
    limit: z.number(),
  })
  .readonly();
export type Aim = z.infer<typeof Aim>;

/** One line of the table: what FleetGC takes beside what the same bytes take without it. */
const Figure = z
  .object({
    benchmark: z.string(),
    name: z.string(),
    unit: z.string(),
    value: Spread,
    /** What was measured in turns with it, in the same run. */
    baseline: Spread,
    baselineName: z.string(),
    /** Measurements behind the value. */
    samples: z.number(),
    /** `null`: shown to explain another figure. */
    aim: Aim.nullable(),
  })
  .readonly();
export type Figure = z.infer<typeof Figure>;

/** What one benchmark found, and how it was measured. */
export const Findings = z.object({
  figures: z.array(Figure).readonly(),
  notes: z.array(z.string()).readonly(),
});
export type Findings = Readonly<z.infer<typeof Findings>>;

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
