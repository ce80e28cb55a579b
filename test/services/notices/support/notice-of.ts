import type { Message } from '../../../../services/notices/message.ts';
import type { Notice } from '../../../../services/notices/notices.ts';

export const AT_MS = Date.UTC(2026, 0, 1);

/** A removal on a node, with a number of its own. */
export const noticeOf = (number: number, over: Partial<Notice> = {}): Notice => ({
  id: `notice-${number}`,
  kind: 'removed',
  atMs: AT_MS,
  cluster: 'prod',
  node: 'web-1',
  text: `prod/web-1: notice ${number}`,
  facts: {},
  reason: 'GarbageCollected',
  onceKey: null,
  ...over,
});

export const messageOf = (
  notices: readonly [Notice, ...Notice[]],
  dropped: Message['dropped'] = {},
): Message => ({ rule: 'all', notices, dropped });
