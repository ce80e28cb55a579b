import { jsonLine } from '../../cli/framework/printable-documents.ts';
/** Either lines for people, or documents for machines. */
export interface Output {
  readonly text: (lines: readonly string[]) => void;
  readonly json: (document: object) => void;
}

export const outputFor = (json: boolean, print: (text: string) => void): Output => ({
  text: (lines) => {
    if (!json) for (const line of lines) print(line);
  },
  json: (document) => {
    if (json) print(jsonLine(document));
  },
});

export const indented = (text: string): readonly string[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line}`);
