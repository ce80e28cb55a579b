import { z } from 'zod';
import { withMeta } from '../../packages/process/options/options.ts';
import { jsonText, yamlText } from './printable-documents.ts';

/** For verbs that print a result: a table for people, or the whole of it for machines. */
export const outputOptions = {
  output: withMeta(z.enum(['table', 'json', 'yaml']).prefault('table'), {
    description: 'table for people; json or yaml for everything there is to say.',
  }),
};

export type OutputFormat = z.infer<typeof outputOptions.output>;

export interface Result {
  /** What `json` and `yaml` show. */
  readonly value: unknown;
  /** What `table` shows, line by line. */
  readonly lines: readonly string[];
}

export function formatResult(format: OutputFormat, { value, lines }: Result): string {
  if (format === 'json') return jsonText(value);
  if (format === 'yaml') return yamlText(value).trimEnd();
  return lines.join('\n');
}

const GAP = 3;

/** Columns as wide as their widest cell, with no space at the ends of lines. */
export function tableLines(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((cells) => cells[column]?.length ?? 0)) + GAP);
  return all.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('')
      .trimEnd(),
  );
}
