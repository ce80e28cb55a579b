import { textOf } from '../deploy/files.ts';
import { tableRows } from './markdown.ts';

const page = textOf('docs/operating/traces.md');
const firstCells = (heading: string): readonly string[] =>
  tableRows(page, heading).map(([cell = '']) => cell);

/** The spans that the page of traces has, and the names of attributes. */
export const spansInPage = firstCells('span');
export const attributesInPage = firstCells('attribute');
/** Codes in the table of variables. */
export const variablesInPage = tableRows(page, 'variable').flatMap(([cell = '']) =>
  cell.replaceAll('`', '').split(', '),
);
