import type { AllSeries, FigureName } from './series.ts';
import { FIGURES } from './series.ts';
import { type Verdict, verdictOf } from './verdict.ts';

export interface Row extends Verdict {
  readonly process: string;
  readonly figure: FigureName;
  readonly unit: string;
  readonly samples: number;
}

export const rowsOf = ({ all }: Pick<AllSeries, 'all'>): readonly Row[] =>
  all.map(({ process, figure, samples }) => {
    const { unit, ...tolerance } = FIGURES[figure];
    return { process, figure, unit, samples: samples.length, ...verdictOf(samples, tolerance) };
  });

const HEAD = ['process', 'figure', 'first quarter', 'second', 'third', 'last', 'an hour', 'verdict'];

/** For people, a line each. */
export function tableOf(rows: readonly Row[]): string {
  const cells = [
    HEAD,
    ...rows.map(({ process, figure, unit, quarters, slopePerHour, verdict }) => [
      process,
      figure,
      ...quarters.map((median) => amount(median, unit)),
      `${slopePerHour < 0 ? '' : '+'}${amount(slopePerHour, unit)}`,
      verdict,
    ]),
  ];
  const widths = HEAD.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const KIB = 1024;

function amount(value: number, unit: string): string {
  if (unit !== 'bytes') return String(Math.round(value * 10) / 10);
  const [kib, mib] = [value / KIB, value / KIB / KIB];
  return Math.abs(mib) >= 1 ? `${mib.toFixed(1)} MiB` : `${kib.toFixed(1)} KiB`;
}
