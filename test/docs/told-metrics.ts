import { textOf } from '../deploy/files.ts';
import { tableRows } from './markdown.ts';

const page = textOf('docs/operating/metrics.md');

interface Row {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly series: number;
}

const codeIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

/** The tables of the page by their headings. */
export const sections = new Map(
  page.split(/^## /m).flatMap((section) => {
    const found = section
      .split(/^(?=\| metric \|)/m)
      .filter((part) => part.startsWith('| metric |'))
      .flatMap((table) => tableRows(table, 'metric'))
      .map(([name = '', type = '', labels = '', series = '']): Row => {
        return {
          name,
          type,
          labels: codeIn(/^[a-z_]+$/.test(labels) ? `\`${labels}\`` : labels),
          series: Number(series),
        };
      });
    return found.length === 0 ? [] : [[section.split('\n')[0] ?? '', found] as const];
  }),
);
export const rows = [...sections.values()].flat();

/** The values of labels, by metric and label. */
export const told: ReadonlyMap<string, readonly string[]> = new Map(
  page.split(/^- /m).flatMap((item) => {
    const [, label, of, values] =
      /^\*\*`([a-z_]+)`\*\* of ([^:]*):([^.]*(?:\.[a-zA-Z][^.]*)*)\.\n/.exec(item) ?? [];
    if (label === undefined || of === undefined || values === undefined) return [];
    return codeIn(of).map((metric) => [`${metric} ${label}`, codeIn(values)] as const);
  }),
);

/** How many series one process makes at most, by its verb. */
export const mostSeries: ReadonlyMap<string, number> = new Map(
  tableRows(page, 'process').map(([verb = '', series = '']) => [verb, Number(series.replaceAll(',', ''))]),
);
