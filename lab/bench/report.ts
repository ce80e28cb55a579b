import { cpus, release, totalmem } from 'node:os';
import { z } from 'zod';
import { aimText, type Figure, Findings, isMet, ratioOf } from './figure.ts';
import type { Spread } from './statistics.ts';

/** Where it was measured; absolute figures mean nothing without it. */
const Machine = z
  .object({
    cpu: z.string(),
    cores: z.int(),
    memoryGib: z.number(),
    kernel: z.string(),
    node: z.string(),
  })
  .readonly();
type Machine = z.infer<typeof Machine>;

/** What a benchmark found, when and where. */
const Measured = Findings.extend({
  startedAt: z.iso.datetime(),
  seconds: z.number(),
  machine: Machine,
}).readonly();
export type Measured = z.infer<typeof Measured>;

/** What benchmarks found, by their names, for people and for machines. */
export const Report = z.strictObject({ benchmarks: z.record(z.string(), Measured).readonly() }).readonly();
export type Report = z.infer<typeof Report>;

const GIBIBYTE = 2 ** 30;

export function thisMachine(): Machine {
  const cores = cpus();
  return {
    cpu: cores[0]?.model ?? 'unknown',
    cores: cores.length,
    memoryGib: Math.round(totalmem() / GIBIBYTE),
    kernel: release(),
    node: process.version,
  };
}

const HEAD = ['figure', 'FleetGC', 'baseline', 'ratio', 'aim', 'met'];

/** Medians, with the lowest and the highest round in brackets. */
export function tableOf(report: Report): string {
  const parts = Object.entries(report.benchmarks).map(([name, measured]) => benchmarkText(name, measured));
  return [
    'Median (lowest to highest round). Load generator, broker and services share the machine: read the ratios, not the absolute figures.',
    ...parts,
  ].join('\n\n');
}

function benchmarkText(name: string, { figures, notes, seconds, machine }: Measured): string {
  const { cores, cpu, node } = machine;
  const rows = [HEAD, ...figures.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [
    `== ${name}: ${cores} cores (${cpu}), Node ${node}, ${seconds} s`,
    ...lines,
    ...notes.map((note) => `- ${note}`),
  ].join('\n');
}

/** What a line says of a figure, on a terminal and on a page. */
function cellsOf(figure: Figure): readonly string[] {
  const { name, unit, value, baseline, baselineName, aim } = figure;
  const met = isMet(figure);
  return [
    `${name}, ${unit}`,
    spreadText(value),
    `${spreadText(baseline)} ${baselineName}`,
    ratioOf(figure).toFixed(2),
    aim ? aimText(aim, unit) : '',
    met === null ? '' : met ? 'yes' : '**no**',
  ];
}

const spreadText = ({ median, lowest, highest }: Spread): string =>
  `${shortened(median)} (${shortened(lowest)} to ${shortened(highest)})`;

function shortened(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 1 ? 1 : 2);
}

const MARKDOWN_HEAD = `| ${HEAD.join(' | ')} |\n${'| --- '.repeat(HEAD.length)}|`;

/** The same as a page of Markdown, with the date and the machine of each benchmark. */
export function pageOf({ benchmarks }: Report): string {
  const parts = Object.entries(benchmarks)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, measured]) => benchmarkPart(name, measured));
  return `${[PAGE_HEAD, ...parts].join('\n\n')}\n`;
}

const PAGE_HEAD = `# Last results of each benchmark

Written by \`npm run bench\`, which measures both sides of a line in turns: read the ratios, not the absolute figures, since load
generator, broker and services share the machine. Medians, with the lowest and the highest round in brackets. What the figures mean, and what limits
them: [docs/reference/performance.md](../../../docs/reference/performance.md).`;

function benchmarkPart(name: string, { startedAt, seconds, machine, figures, notes }: Measured): string {
  const { cores, cpu, memoryGib, kernel, node } = machine;
  const where = `${startedAt.slice(0, 10)}, ${cores} cores (${cpu}), ${memoryGib} GiB, Linux ${kernel}, Node ${node}; ${seconds} s.`;
  const rows = figures.map((figure) => `| ${cellsOf(figure).join(' | ')} |`);
  return [
    `## ${name}`,
    where,
    [MARKDOWN_HEAD, ...rows].join('\n'),
    notes.map((note) => `- ${note}`).join('\n'),
  ].join('\n\n');
}
