/** From `fromMs` up to and without `toMs`; `null`: up to now. */
export interface ReportRange {
  readonly fromMs: number;
  readonly toMs: number | null;
}

const DAYS_OF_WEEK = 7;
/** Monday, as `Date` counts. */
const FIRST_DAY = 1;

/** When the day of the reader began that lies so many days from today. */
function dayFrom(nowMs: number, days: number): number {
  const now = new Date(nowMs);
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days).getTime();
}

/** When the week of the reader began, so many weeks ago. */
function weekFrom(nowMs: number, weeksAgo: number): number {
  const since = (new Date(nowMs).getDay() - FIRST_DAY + DAYS_OF_WEEK) % DAYS_OF_WEEK;
  return dayFrom(nowMs, -since - weeksAgo * DAYS_OF_WEEK);
}

/** What reports are asked for mostly. */
export const namedRanges = (nowMs: number): readonly (ReportRange & { readonly name: string })[] => [
  { name: 'This week', fromMs: weekFrom(nowMs, 0), toMs: null },
  { name: 'Last week', fromMs: weekFrom(nowMs, 1), toMs: weekFrom(nowMs, 0) },
  { name: 'Last seven days', fromMs: dayFrom(nowMs, -DAYS_OF_WEEK), toMs: null },
];

/** With its zone, so that it means the same to whoever gets the address. */
export const rangeAddress = ({ fromMs, toMs }: ReportRange): string =>
  `/report?${new URLSearchParams({
    from: new Date(fromMs).toISOString(),
    ...(toMs !== null && { to: new Date(toMs).toISOString() }),
  })}`;

/** `null` where the address names no time. */
export function rangeIn(query: URLSearchParams): ReportRange | null {
  const fromMs = Date.parse(query.get('from') ?? '');
  const to = query.get('to');
  const toMs = to === null ? null : Date.parse(to);
  return Number.isNaN(fromMs) || fromMs < 0 || Number.isNaN(toMs) ? null : { fromMs, toMs };
}

/** As an input for days has it: in the reader's zone. */
export function dayText(ms: number): string {
  const at = new Date(ms);
  const two = (number: number): string => String(number).padStart(2, '0');
  return `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** When the day began that an input has, so many days later; `null` where it has none. */
export function dayBegins(text: string, daysLater = 0): number | null {
  const [year = 0, month = 0, day = 0] = text.split('-').map(Number);
  const at = new Date(year, month - 1, day + daysLater).getTime();
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at) ? at : null;
}
