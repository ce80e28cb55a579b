import type { Said, TimelineEntry } from '../../../schemas/reports/timeline.ts';

type Repeated = Extract<TimelineEntry, { readonly times: number }>;
export interface Spread {
  readonly least: Said;
  readonly most: Said;
}

const NUMBER = /\d+(?:\.\d+)?/g;

/** What entries that are told as one say with the least and with the most of each number; `null` where no number differs. */
export function spreadOf(earlier: Repeated, later: Repeated): Spread | null {
  const now = saidBy(later);
  const { least, most } = earlier.spread ?? { least: saidBy(earlier), most: saidBy(earlier) };
  const spread = { least: merged(least, now, isLess), most: merged(most, now, isMore) };
  return JSON.stringify(spread.least) === JSON.stringify(spread.most) ? null : spread;
}

const saidBy = (entry: Repeated): Said => ({
  reason: 'reason' in entry ? entry.reason : '',
  facts: 'facts' in entry ? entry.facts : {},
});

type Wins = (a: number, b: number) => boolean;
const isLess: Wins = (a, b) => a < b;
const isMore: Wins = (a, b) => a > b;

function merged(before: Said, now: Said, wins: Wins): Said {
  const facts = Object.entries(now.facts).map(([name, value]) => {
    const old = before.facts[name];
    const isOld = typeof old === 'number' && typeof value === 'number' && wins(old, value);
    return [name, isOld ? old : value] as const;
  });
  return { reason: mergedText(before.reason, now.reason, wins), facts: Object.fromEntries(facts) };
}

/** Where the words differ too, there is nothing to compare. */
function mergedText(before: string, now: string, wins: Wins): string {
  if (before.replace(NUMBER, '0') !== now.replace(NUMBER, '0')) return now;
  const old = before.match(NUMBER) ?? [];
  let index = 0;
  return now.replace(NUMBER, (number) => {
    const other = old[index++] ?? number;
    return wins(Number(other), Number(number)) ? other : number;
  });
}
