/** To the second, in UTC: `2026-01-31T10:15:02Z`. Times that no calendar has are given as they are. */
export function timeText(epochMs: number): string {
  const date = new Date(epochMs);
  return Number.isNaN(date.getTime()) ? `${epochMs} ms` : date.toISOString().replace(/\.\d+Z$/, 'Z');
}
