import { printableLine } from '../text/printable.ts';
import type { Cell, Document, Section, Table } from './document.ts';

export const documentMarkdown = ({ title, introduction, sections }: Document): string =>
  [`# ${title}`, paragraph(introduction), ...sections.map(sectionMarkdown)].join('\n\n');

const sectionMarkdown = ({ heading, text, table }: Section): string =>
  [`## ${heading}`, paragraph(text), table === null ? '' : tableMarkdown(table)]
    .filter((block) => block !== '')
    .join('\n\n');

const paragraph = (sentences: readonly string[]): string => printableLine(sentences.join(' '));

const tableMarkdown = ({ header, rows }: Table): string =>
  [header, header.map(() => '---'), ...rows.map((cells) => cells.map(cellMarkdown))].map(row).join('\n');

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

const MARKUP = /[\\`*_<>[\]|]/g;

/** Names come from elsewhere: in a code span nothing of them is markup but its end, and that of the cell. */
function cellMarkdown(cell: Cell): string {
  if (typeof cell === 'string') return printableLine(cell).replace(MARKUP, '\\$&');
  return `\`${printableLine(cell.name).replaceAll('`', "'").replaceAll('|', '\\|')}\``;
}
