import { printableLine } from '../text/printable.ts';
import type { Bar, Cell, Document, Section, Table } from './document.ts';

/** Nothing is loaded and nothing runs, whatever a name in it says. */
const headOf = (title: string): string => `<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>${htmlText(title)}</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid #8884; }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; margin: .5rem 0 1rem; }
svg text { fill: currentColor; }
svg rect { fill: #2f7bbf; }
</style>`;

/** A document as one file that needs no other. */
export const documentHtml = ({ title, introduction, sections }: Document): string =>
  [
    '<!doctype html>',
    '<html lang="en">',
    `<head>\n${headOf(title)}\n</head>`,
    '<body>',
    `<h1>${htmlText(title)}</h1>`,
    ...htmlParagraph(introduction),
    ...sections.flatMap(sectionHtml),
    '</body>',
    '</html>',
  ].join('\n');

const sectionHtml = ({ heading, text, table, bars }: Section): readonly string[] => [
  `<h2>${htmlText(heading)}</h2>`,
  ...htmlParagraph(text),
  ...(bars.length > 1 ? [barPlot(heading, bars)] : []),
  ...(table === null ? [] : tableHtml(table)),
];

const htmlParagraph = (sentences: readonly string[]): readonly string[] =>
  sentences.length === 0 ? [] : [`<p>${cellText(sentences.join(' '))}</p>`];

const tableHtml = ({ header, rows }: Table): readonly string[] => [
  '<table>',
  `<tr>${header.map((cell) => `<th>${cellText(cell)}</th>`).join('')}</tr>`,
  ...rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cellHtml(cell)}</td>`).join('')}</tr>`),
  '</table>',
];

const cellHtml = (cell: Cell): string =>
  typeof cell === 'string' ? cellText(cell) : `<code>${cellText(cell.name)}</code>`;

const cellText = (text: string): string => htmlText(printableLine(text));

const WIDTH = 900;
const ROW = 22;
const LABEL = 440;
const VALUE = 90;
const LONGEST = WIDTH - LABEL - VALUE;

/** Horizontal bars as an inline SVG, one a row; below zero there is none, and its text says so. */
function barPlot(title: string, bars: readonly Bar[]): string {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const height = bars.length * ROW;
  return [
    `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${htmlText(title)}">`,
    ...bars.map((bar, row) => barSvg(bar, { top: row * ROW, length: lengthOf(bar, most) })),
    '</svg>',
  ].join('\n');
}

const lengthOf = ({ value }: Bar, most: number): number => Math.round((Math.max(0, value) / most) * LONGEST);

const barSvg = ({ label, text }: Bar, { top, length }: { readonly top: number; readonly length: number }) =>
  [
    `<text x="${LABEL - 8}" y="${top + 15}" text-anchor="end">${htmlText(label)}</text>`,
    `<rect x="${LABEL}" y="${top + 3}" width="${length}" height="${ROW - 6}"/>`,
    `<text x="${LABEL + length + 6}" y="${top + 15}">${htmlText(text)}</text>`,
  ].join('');

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text in HTML, between tags and in quoted attributes alike. */
const htmlText = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
