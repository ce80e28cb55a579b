import { cpus, release, totalmem } from 'node:os';
import { aimText, type Figure, type Findings, isMet, ratioOf } from './figure.ts';
import type { Spread } from './statistics.ts';

/** Where it was measured; absolute figures mean nothing without it. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly kernel: string;
  readonly node: string;
}

/** What a benchmark found, when and where. */
export interface Measured extends Findings {
  readonly startedAt: string;
  readonly seconds: number;
  readonly machine: Machine;
}

/** What a run found, for people and for machines. */
export interface Report {
  readonly benchmarks: Readonly<Record<string, Measured>>;
}

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

const HEAD = ['figure', 'FleetGC', 'baseline', 'ratio', 'aim', 'met', 'of'];

/** Medians with the lowest and highest round in brackets. */
export function tableOf(report: Report): string {
  const parts = Object.entries(report.benchmarks).map(([name, measured]) => benchmarkText(name, measured));
  return [
    'Median [lowest to highest round]. Load generator, broker and services share the machine: read the ratios, not the absolute figures.',
    ...parts,
  ].join('\n\n');
}

function benchmarkText(name: string, { figures, notes, seconds, machine }: Measured): string {
  const { cores, cpu, node } = machine;
  const rows = [HEAD, ...figures.map(rowOf)];
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

function rowOf(figure: Figure): readonly string[] {
  const { name, unit, value, baseline, baselineName, samples, aim } = figure;
  const met = isMet(figure);
  return [
    name,
    spreadText(value, unit),
    `${spreadText(baseline, unit)} ${baselineName}`,
    `${ratioOf(figure).toFixed(2)}x`,
    aim ? aimText(aim, unit) : '',
    met === null ? '' : metText(met),
    `${samples}`,
  ];
}

const metText = (met: boolean): string => (met ? 'yes' : 'NO');

const spreadText = ({ median, lowest, highest }: Spread, unit: string): string =>
  `${rounded(median)} ${unit} [${rounded(lowest)} to ${rounded(highest)}]`;

const rounded = (value: number): string => (Math.abs(value) < 100 ? value.toFixed(1) : value.toFixed(0));
