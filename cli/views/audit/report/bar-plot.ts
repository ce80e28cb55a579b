import { htmlText } from './html-text.ts';
import type { Bar } from './report-part.ts';

const WIDTH = 900;
const ROW = 22;
const LABEL = 440;
const VALUE = 90;
const LONGEST = WIDTH - LABEL - VALUE;

/** Horizontal bars as an inline SVG, one a row; below zero there is none, and its text says so. */
export function barPlot(title: string, bars: readonly Bar[]): string {
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
