import { counted } from '../../../packages/text/counted.ts';
import { NOTICE_KINDS } from '../../../schemas/notices/notice.ts';
import { type Joined, joinedNotices, writtenOut } from '../delivery/joined.ts';
import { droppedCount, type Message } from '../delivery/message.ts';

/** Of a digest so many are written out. */
const MOST_LINES = 10;
const BREAK = '\u200b';

/** What chats with Slack's webhooks take. Names stay text: no markup, no links, and nobody is called. */
export function slackBody(message: Message): string {
  const { notices, dropped } = message;
  const told = writtenOut(joinedNotices(notices), MOST_LINES);
  const more = notices.length - told.reduce((sum, { joined }) => sum + 1 + joined, 0);
  const before = droppedCount(dropped);
  const lines = [
    ...told.map(lineOf),
    ...(more > 0 ? [`and ${more} more`] : []),
    ...(before > 0
      ? [
          `(${counted(before, 'notice')} before this could not be delivered and ${before === 1 ? 'was' : 'were'} dropped)`,
        ]
      : []),
  ];
  return JSON.stringify({ text: lines.join('\n'), mrkdwn: false, unfurl_links: false, unfurl_media: false });
}

const lineOf = ({ newest: { kind, text }, joined }: Joined): string =>
  `FleetGC ${NOTICE_KINDS[kind].severity === 'warning' ? 'warning' : 'notice'}, ${kind}: ${escaped(text)}${joined === 0 ? '' : ` (and ${joined} more like it before)`}`;

/**
 * `&`, `<` and `>` as Slack asks for it. Where other chats see a mention or a link of Markdown, a space without width stands between;
 * digests, which have an @ within a word, stay as they are.
 */
export const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/(?<![\p{L}\p{N}_])@/gu, `@${BREAK}`)
    .replaceAll('](', `]${BREAK}(`)
    .replace(
      /[`*_~](?=[`*_~])|(?<![\p{L}\p{N}])[`*_~]|[`*_~](?![\p{L}\p{N}])/gu,
      (sign) => `${sign}${BREAK}`,
    );
