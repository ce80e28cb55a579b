import type { FreedSpace } from '../../../packages/decision/freed-space.ts';
import { sizeText } from '../../../packages/text/size-text.ts';
import type { Activity } from './activity-reader.ts';
import { holdersText } from './holder-text.ts';

/** One line about what happened; `null` for what only moves the bar. */
export function activityLine(activity: Activity): string | null {
  switch (activity.kind) {
    case 'usage':
    case 'kept':
      return null;
    case 'reclaim':
      return `disk at ${activity.reading} (threshold ${activity.threshold}): making room`;
    case 'removed':
      return `- ${activity.object} ${activity.name}${freedText(activity.freed)}: ${activity.why}`;
    case 'stayed':
      return `= ${activity.object} ${activity.name} stays: ${activity.why}`;
    case 'gone-already':
      return `= ${activity.object} ${activity.name} was gone already`;
    case 'unrelieved':
      return `no more can go: ${holdersText(activity.holders)}`;
  }
}

function freedText(freed: FreedSpace): string {
  if (freed.how === 'measured') return freed.bytes > 0n ? ` (${sizeText(freed.bytes)} freed)` : '';
  return freed.estimatedBytes === null
    ? ''
    : ` (about ${sizeText(freed.estimatedBytes)} by estimate, not measurable)`;
}
