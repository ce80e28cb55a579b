import type { FreedSpace } from '../../../packages/decision/freed-space.ts';
import { sizeText } from '../../../packages/text/size-text.ts';
import { holdersText } from './holder-text.ts';
import type { Tale } from './narrator.ts';

/** One line about what happened; `null` for what only moves the bar. */
export function taleLine(tale: Tale): string | null {
  switch (tale.kind) {
    case 'usage':
    case 'kept':
      return null;
    case 'reclaim':
      return `disk at ${tale.reading} (threshold ${tale.threshold}): making room`;
    case 'removed':
      return `- ${tale.object} ${tale.name}${freedText(tale.freed)}: ${tale.why}`;
    case 'stayed':
      return `= ${tale.object} ${tale.name} stays: ${tale.why}`;
    case 'unrelieved':
      return `no more can go: ${holdersText(tale.holders)}`;
  }
}

function freedText(freed: FreedSpace): string {
  if (freed.how === 'measured') return freed.bytes > 0n ? ` (${sizeText(freed.bytes)} freed)` : '';
  return freed.estimatedBytes === null
    ? ''
    : ` (about ${sizeText(freed.estimatedBytes)} by estimate, not measurable)`;
}
