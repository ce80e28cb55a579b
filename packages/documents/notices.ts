import { NOTICE_KIND_NAMES } from '../../schemas/notices/notice.ts';
import type { NoticeReceiver, NoticeRules } from '../../schemas/notices/notice-rules.ts';
import { counted } from '../text/counted.ts';
import { tableLines } from './text.ts';

/** For programs: who is told what, without addresses, which may be secrets. */
export const rulesValue = ({ receivers, rules }: NoticeRules) => ({
  receivers: receivers.map(({ name, type, maxAge }) => ({ name, type, maxAgeSeconds: maxAge / 1000 })),
  rules: rules.map(({ name, kinds = NOTICE_KIND_NAMES, clusters, nodes, to, atMostPerMinute }) => ({
    name,
    kinds,
    clusters: clusters ?? null,
    nodes: nodes ?? null,
    to,
    atMostPerMinute,
  })),
});

export const rulesLines = ({ receivers, rules }: NoticeRules): readonly string[] => [
  ...tableLines(
    ['RULE', 'KINDS', 'CLUSTERS', 'NODES', 'TO', 'A MINUTE'],
    rules.map(({ name, kinds, clusters, nodes, to, atMostPerMinute }) => [
      name,
      kinds?.join(', ') ?? 'all',
      clusters?.join(', ') ?? 'all',
      nodes?.join(', ') ?? 'all',
      to.join(', '),
      String(atMostPerMinute),
    ]),
  ),
  '',
  ...receivers
    .filter(isOpen)
    .map(({ name }) => `receiver ${name}: it is reached by http, so whoever is on the way reads along`),
  `The file can be used: ${counted(receivers.length, 'receiver')}, ${counted(rules.length, 'rule')}.`,
];

const isOpen = (receiver: NoticeReceiver): boolean =>
  receiver.type !== 'kubernetes' && receiver.url?.startsWith('http:') === true;
